-- The supplier of most revenue in a quarter: a CTE that is read twice, compared with its MAX.
WITH revenue AS (
    SELECT l_suppkey AS suppkey, sum(l_extendedprice * (1 - l_discount)) AS total
    FROM lineitem
    WHERE l_shipdate >= DATE '1996-04-01' AND l_shipdate < DATE '1996-07-01'
    GROUP BY l_suppkey)
SELECT s.s_suppkey, s.s_name, revenue.total
FROM supplier s
JOIN revenue ON revenue.suppkey = s.s_suppkey
WHERE revenue.total = (SELECT max(total) FROM revenue)
