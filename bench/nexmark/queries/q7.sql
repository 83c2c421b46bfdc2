-- Highest bid: the bids with the highest price of each 10 seconds.
WITH highest AS (
  SELECT max(price) AS price, window_end
  FROM TABLE(TUMBLE(TABLE bid, DESCRIPTOR(date_time), INTERVAL 10 SECONDS))
  GROUP BY window_start, window_end
)
SELECT b.auction, b.price, b.bidder, b.date_time, b.extra
FROM bid AS b JOIN highest AS h
  ON b.price = h.price AND b.date_time BETWEEN h.window_end - INTERVAL 10 SECONDS AND h.window_end
