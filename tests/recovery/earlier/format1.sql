CREATE TABLE orders (id INT, customer STRING, amount DECIMAL(10, 2), PRIMARY KEY (id));
CREATE TABLE visits (at TIMESTAMP LATENESS INTERVAL 1 MINUTE, page STRING);
CREATE VIEW totals AS SELECT customer, COUNT(*) AS n, SUM(amount) AS amount FROM orders GROUP BY customer;
CREATE VIEW pages AS SELECT page, COUNT(*) AS n FROM visits GROUP BY page;
