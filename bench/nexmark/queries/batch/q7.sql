WITH highest AS (
  SELECT max(price) AS price, window.end AS window_end FROM bid GROUP BY window(date_time, '10 seconds')
)
SELECT b.auction, b.price, b.bidder, b.date_time, b.extra
FROM bid AS b JOIN highest AS h
  ON b.price = h.price AND b.date_time BETWEEN h.window_end - INTERVAL 10 SECONDS AND h.window_end
