-- An online shop: orders and payments are tables of PostgreSQL, followed by their changes; clicks are messages of Kafka.
-- Answers go to PostgreSQL, where the shop's own pages read them, and to tables of Delta Lake, for whoever analyses them.
-- `make shop` starts all of it; SHOP_DATABASE and SHOP_BROKER say where it is.

CREATE TABLE orders (
  id INT PRIMARY KEY, customer STRING, item STRING, quantity INT, price DECIMAL(10, 2), placed TIMESTAMP
) WITH ('connector' = 'postgres', 'connection' = '${env:SHOP_DATABASE}', 'table' = 'public.orders');

CREATE TABLE payments (order_id INT PRIMARY KEY, amount DECIMAL(12, 2))
WITH ('connector' = 'postgres', 'connection' = '${env:SHOP_DATABASE}', 'table' = 'public.payments');

-- A click that comes more than ten seconds behind the latest one is late: it is counted, and kept in error_view.
CREATE STREAM clicks (customer STRING, page STRING, at TIMESTAMP NOT NULL LATENESS INTERVAL 10 SECONDS)
WITH ('connector' = 'kafka', 'topic' = 'clicks', 'bootstrap.servers' = '${env:SHOP_BROKER}', 'format' = 'json',
      'idle_after' = '5 seconds');

-- How many came late, for whoever watches the clicks.
CREATE VIEW late_clicks
WITH ('connector' = 'postgres', 'connection' = '${env:SHOP_DATABASE}', 'table' = 'public.late_clicks', 'create' = 'true')
AS SELECT message, COUNT(*) AS clicks FROM error_view WHERE table_or_view_name = 'clicks' GROUP BY message;

-- What has been ordered and not been paid; an order that is paid, or cancelled, goes from the table.
CREATE VIEW unpaid
WITH ('connector' = 'postgres', 'connection' = '${env:SHOP_DATABASE}', 'table' = 'public.unpaid', 'create' = 'true') AS
SELECT o.id, o.customer, o.quantity * o.price AS amount, o.placed
FROM orders o
WHERE NOT EXISTS (SELECT 1 FROM payments p WHERE p.order_id = o.id);

-- The three items that have sold best by now.
CREATE VIEW best_sellers
WITH ('connector' = 'postgres', 'connection' = '${env:SHOP_DATABASE}', 'table' = 'public.best_sellers', 'create' = 'true')
AS SELECT place, item, sold FROM (
  SELECT item, SUM(quantity) AS sold, ROW_NUMBER() OVER (ORDER BY SUM(quantity) DESC, item) AS place
  FROM orders GROUP BY item
) WHERE place <= 3;

-- A visit is what a customer clicks with less than five seconds between; it is shown once, when it is over.
CREATE VIEW visits
WITH ('connector' = 'delta', 'path' = 'lake/visits') AS
SELECT customer, window_start, window_end, COUNT(*) AS clicks,
       COUNT(*) FILTER (WHERE page = 'checkout') > 0 AS went_to_checkout
FROM TABLE(SESSION(TABLE clicks PARTITION BY customer, DESCRIPTOR(at), INTERVAL 5 SECONDS))
GROUP BY customer, window_start, window_end
EMIT AFTER WATERMARK;

-- What each customer has ordered.
CREATE VIEW customers
WITH ('connector' = 'delta', 'path' = 'lake/customers') AS
SELECT customer, COUNT(*) AS orders, SUM(quantity * price) AS spent
FROM orders GROUP BY customer;
