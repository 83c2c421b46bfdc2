-- The orders of a segment that wait for most, the ten of the highest revenue.
SELECT o.o_orderkey, o.o_orderdate, sum(l.l_extendedprice * (1 - l.l_discount)) AS revenue
FROM customer c
JOIN orders o ON o.o_custkey = c.c_custkey
JOIN lineitem l ON l.l_orderkey = o.o_orderkey
WHERE c.c_mktsegment = 'MACHINERY' AND o.o_orderdate < DATE '1995-06-01' AND l.l_shipdate > DATE '1995-06-01'
GROUP BY o.o_orderkey, o.o_orderdate
ORDER BY revenue DESC, o.o_orderkey
LIMIT 10
