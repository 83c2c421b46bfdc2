-- Log to files: each bid with the day and the minute, by which its files are put into folders.
SELECT auction, bidder, price, date_time, extra,
  date_format(date_time, 'yyyy-MM-dd') AS dt, date_format(date_time, 'HH-mm') AS hm
FROM bid
