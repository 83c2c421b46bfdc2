WITH highest AS (
  SELECT max(price) AS price, time_bucket(INTERVAL 10 SECONDS, date_time) + INTERVAL 10 SECONDS AS window_end
  FROM bid GROUP BY window_end
)
SELECT b.auction, b.price, b.bidder, b.date_time, b.extra
FROM bid AS b JOIN highest AS h
  ON b.price = h.price AND b.date_time BETWEEN h.window_end - INTERVAL 10 SECONDS AND h.window_end
