-- User sessions: how often each bidder bids until he rests for 10 seconds.
SELECT bidder, count(*) AS bid_count, window_start, window_end
FROM TABLE(SESSION(TABLE bid PARTITION BY bidder, DESCRIPTOR(date_time), INTERVAL 10 SECONDS))
GROUP BY bidder, window_start, window_end
