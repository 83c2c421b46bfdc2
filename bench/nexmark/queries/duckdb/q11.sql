WITH marked AS (
  SELECT bidder, date_time,
    coalesce(date_time >= lag(date_time) OVER same + INTERVAL 10 SECONDS, true)::INT AS begins
  FROM bid WINDOW same AS (PARTITION BY bidder ORDER BY date_time)
),
numbered AS (
  SELECT bidder, date_time, sum(begins) OVER (PARTITION BY bidder ORDER BY date_time ROWS UNBOUNDED PRECEDING) AS session
  FROM marked
)
SELECT bidder, count(*) AS bid_count, min(date_time) AS window_start, max(date_time) + INTERVAL 10 SECONDS AS window_end
FROM numbered GROUP BY bidder, session
