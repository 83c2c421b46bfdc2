SELECT bidder, count(*) AS bid_count, session_window.start AS window_start, session_window.end AS window_end
FROM bid GROUP BY bidder, session_window(date_time, '10 seconds')
