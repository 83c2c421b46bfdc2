-- Hot items: the auctions with the most bids in the last 10 seconds, every 2 seconds.
WITH counted AS (
  SELECT auction, count(*) AS num, window_start, window_end
  FROM TABLE(HOP(TABLE bid, DESCRIPTOR(date_time), INTERVAL 2 SECONDS, INTERVAL 10 SECONDS))
  GROUP BY auction, window_start, window_end
),
most AS (SELECT max(num) AS num, window_start, window_end FROM counted GROUP BY window_start, window_end)
SELECT c.auction, c.num, c.window_start
FROM counted AS c JOIN most AS m
  ON c.window_start = m.window_start AND c.window_end = m.window_end AND c.num >= m.num
