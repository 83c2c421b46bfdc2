WITH counted AS (
  SELECT auction, count(*) AS num, window.start AS window_start
  FROM bid GROUP BY auction, window(date_time, '10 seconds', '2 seconds')
),
most AS (SELECT max(num) AS num, window_start FROM counted GROUP BY window_start)
SELECT c.auction, c.num, c.window_start FROM counted AS c JOIN most AS m
  ON c.window_start = m.window_start AND c.num >= m.num
