-- What each shop sells in an hour, from files that come into a folder that all see.
--
--     spark-submit --master 'local-cluster[2,1,1024]' job.py sales.sql --dir /tmp/sales --once

SET engine = 'spark';

CREATE TABLE sales (
  id      BIGINT PRIMARY KEY,
  shop    STRING NOT NULL,
  amount  DECIMAL(10, 2) NOT NULL,
  at      TIMESTAMP NOT NULL LATENESS INTERVAL 1 HOUR
) WITH ('connector' = 'files', 'path' = '/shared/incoming', 'format' = 'json');

CREATE VIEW hourly WITH ('connector' = 'files', 'path' = '/shared/answers', 'form' = 'upsert') AS
SELECT shop, DATE_TRUNC('HOUR', at) AS hour, COUNT(*) AS sold, SUM(amount) AS amount
FROM sales
GROUP BY shop, DATE_TRUNC('HOUR', at);
