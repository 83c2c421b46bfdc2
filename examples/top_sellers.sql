-- The three products that sell best in each category, and the best of all. Only what enters or leaves a list is written.
--
--     cd examples
--     penstock run top_sellers.sql --once

-- A stream takes new rows only, so Penstock need not be ready for rows that are taken back.
CREATE STREAM sales (
  sold_at   TIMESTAMP NOT NULL,
  category  STRING NOT NULL,
  product   STRING NOT NULL,
  quantity  INT NOT NULL
) WITH ('connector' = 'files', 'path' = 'data/sales', 'format' = 'csv');

CREATE LOCAL VIEW sold AS
SELECT category, product, SUM(quantity) AS quantity
FROM sales
GROUP BY category, product;

CREATE VIEW best_of_category AS
SELECT category, place, product, quantity
FROM (
  SELECT *, ROW_NUMBER() OVER (PARTITION BY category ORDER BY quantity DESC, product) AS place
  FROM sold
)
WHERE place <= 3;

CREATE VIEW best_of_all AS
SELECT product, quantity
FROM sold
ORDER BY quantity DESC, product
LIMIT 3;
