WITH people AS (SELECT DISTINCT id, name, time_bucket(INTERVAL 10 SECONDS, date_time) AS window_start FROM person),
sellers AS (SELECT DISTINCT seller, time_bucket(INTERVAL 10 SECONDS, date_time) AS window_start FROM auction)
SELECT p.id, p.name, p.window_start
FROM people AS p JOIN sellers AS s ON p.id = s.seller AND p.window_start = s.window_start
