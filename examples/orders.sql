-- Orders that are placed, changed and cancelled, and what each country is worth now.
--
--     cd examples
--     penstock run orders.sql --once --final

CREATE TABLE customers (
  id       INT PRIMARY KEY,
  name     STRING NOT NULL,
  country  STRING NOT NULL
) WITH ('connector' = 'files', 'path' = 'data/customers', 'format' = 'csv');

-- With a key, a second insert replaces the row, an update changes some of its columns, and a delete goes by the key.
CREATE TABLE orders (
  id        INT PRIMARY KEY,
  customer  INT NOT NULL,
  status    STRING NOT NULL,
  amount    DECIMAL(10, 2) NOT NULL
) WITH ('connector' = 'files', 'path' = 'data/orders', 'format' = 'json');

CREATE VIEW revenue AS
SELECT c.country,
       COUNT(*)                                        AS orders,
       SUM(o.amount)                                   AS amount,
       SUM(o.amount) FILTER (WHERE o.status = 'paid')  AS paid
FROM orders AS o
JOIN customers AS c ON c.id = o.customer
GROUP BY c.country;

-- A customer is here only while none of their orders exists: the first order takes the row away, a cancellation brings it back.
CREATE VIEW without_orders AS
SELECT id, name
FROM customers AS c
WHERE NOT EXISTS (SELECT 1 FROM orders AS o WHERE o.customer = c.id);
