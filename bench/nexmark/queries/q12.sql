-- Windows: how often each bidder bids in each 10 seconds. The standard query takes the time of processing, which gives
-- another answer in every run; here, on every system, it is the time of the event, so that answers can be compared.
SELECT bidder, count(*) AS bid_count, window_start, window_end
FROM TABLE(TUMBLE(TABLE bid, DESCRIPTOR(date_time), INTERVAL 10 SECONDS))
GROUP BY bidder, window_start, window_end
