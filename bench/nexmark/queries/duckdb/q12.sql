SELECT bidder, count(*) AS bid_count, time_bucket(INTERVAL 10 SECONDS, date_time) AS window_start,
  time_bucket(INTERVAL 10 SECONDS, date_time) + INTERVAL 10 SECONDS AS window_end
FROM bid GROUP BY bidder, window_start, window_end
