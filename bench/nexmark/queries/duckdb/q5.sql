WITH counted AS (
  SELECT auction, count(*) AS num, window_start
  FROM (
    SELECT auction, time_bucket(INTERVAL 2 SECONDS, date_time) - INTERVAL 2 SECONDS * before AS window_start
    FROM bid CROSS JOIN range(5) AS slides(before)
  )
  GROUP BY auction, window_start
),
most AS (SELECT max(num) AS num, window_start FROM counted GROUP BY window_start)
SELECT c.auction, c.num, c.window_start FROM counted AS c JOIN most AS m
  ON c.window_start = m.window_start AND c.num >= m.num
