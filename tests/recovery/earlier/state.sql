SET state_seconds = '0';
SET log_retention = 'recovery';
CREATE TABLE customer (id INT PRIMARY KEY, name STRING, area STRING) WITH ('history' = 'none');
CREATE TABLE price (item STRING, cents DECIMAL(10,2), ts TIMESTAMP, WATERMARK FOR ts AS ts - INTERVAL 1 MINUTE,
    PRIMARY KEY (item)) WITH ('history' = 'none');
CREATE STREAM sale (ts TIMESTAMP, customer INT, item STRING, n BIGINT, x DOUBLE,
    WATERMARK FOR ts AS ts - INTERVAL 1 MINUTE) WITH ('history' = 'none');
CREATE STREAM click (ts TIMESTAMP, customer INT, page STRING,
    WATERMARK FOR ts AS ts - INTERVAL 1 MINUTE) WITH ('history' = 'none');
CREATE LOCAL VIEW named AS SELECT c.area, c.name, s.item, s.n, s.x, s.ts FROM sale s JOIN customer c ON s.customer = c.id;
CREATE MATERIALIZED VIEW totals AS SELECT area, COUNT(*) AS c, SUM(n) AS n, SUM(x) AS x, AVG(n) AS a, MIN(x) AS l,
    MAX(x) AS h, COUNT(DISTINCT item) AS d FROM named GROUP BY area;
CREATE MATERIALIZED VIEW extremes AS SELECT area, MAX(n) AS h, SUM(n) AS n FROM named GROUP BY area;
CREATE MATERIALIZED VIEW minutes AS SELECT window_start, item, SUM(n) AS n
    FROM TUMBLE(TABLE sale, DESCRIPTOR(ts), INTERVAL 1 MINUTE) GROUP BY window_start, item;
CREATE MATERIALIZED VIEW final_minutes WITH ('emit_final' = 'window_start') AS SELECT window_start, COUNT(*) AS n
    FROM TUMBLE(TABLE click, DESCRIPTOR(ts), INTERVAL 1 MINUTE) GROUP BY window_start;
CREATE MATERIALIZED VIEW visits AS SELECT customer, session_window.start AS since, COUNT(*) AS n FROM click
    GROUP BY customer, session_window(ts, '2 minutes');
CREATE MATERIALIZED VIEW best AS SELECT * FROM (SELECT item, n, x, ROW_NUMBER() OVER (PARTITION BY item
    ORDER BY n DESC, x) AS place FROM sale) WHERE place <= 2;
CREATE MATERIALIZED VIEW ranked AS SELECT item, n, SUM(n) OVER (PARTITION BY item ORDER BY ts) AS so_far FROM sale;
CREATE MATERIALIZED VIEW unserved AS SELECT id FROM customer c WHERE NOT EXISTS (SELECT 1 FROM sale s
    WHERE s.customer = c.id);
CREATE MATERIALIZED VIEW pages AS SELECT DISTINCT page FROM click;
CREATE MATERIALIZED VIEW both AS SELECT customer FROM sale INTERSECT SELECT customer FROM click;
CREATE MATERIALIZED VIEW outer_joined AS SELECT c.id, s.item FROM customer c LEFT JOIN sale s ON s.customer = c.id;
