WITH people AS (
  SELECT id, name, window.start AS window_start FROM person GROUP BY id, name, window(date_time, '10 seconds')
),
sellers AS (
  SELECT seller, window.start AS window_start FROM auction GROUP BY seller, window(date_time, '10 seconds')
)
SELECT p.id, p.name, p.window_start
FROM people AS p JOIN sellers AS s ON p.id = s.seller AND p.window_start = s.window_start
