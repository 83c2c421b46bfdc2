-- Monitor new users: who opened an account and an auction in the same 10 seconds.
WITH people AS (
  SELECT id, name, window_start, window_end
  FROM TABLE(TUMBLE(TABLE person, DESCRIPTOR(date_time), INTERVAL 10 SECONDS))
  GROUP BY id, name, window_start, window_end
),
sellers AS (
  SELECT seller, window_start, window_end
  FROM TABLE(TUMBLE(TABLE auction, DESCRIPTOR(date_time), INTERVAL 10 SECONDS))
  GROUP BY seller, window_start, window_end
)
SELECT p.id, p.name, p.window_start
FROM people AS p JOIN sellers AS s
  ON p.id = s.seller AND p.window_start = s.window_start AND p.window_end = s.window_end
