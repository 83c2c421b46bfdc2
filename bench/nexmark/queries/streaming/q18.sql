SELECT auction, bidder, last.price, last.channel, last.url, last.date_time, last.extra
FROM (
  SELECT auction, bidder, max_by(struct(price, channel, url, date_time, extra), date_time) AS last
  FROM bid GROUP BY auction, bidder
)
