-- What suppliers sell to customers of their own nation: six tables, two conditions for one of them.
SELECT r.r_name, n.n_name, sum(l.l_extendedprice * (1 - l.l_discount)) AS revenue, count(*) AS n
FROM customer c
JOIN orders o ON o.o_custkey = c.c_custkey
JOIN lineitem l ON l.l_orderkey = o.o_orderkey
JOIN supplier s ON s.s_suppkey = l.l_suppkey AND s.s_nationkey = c.c_nationkey
JOIN nation n ON n.n_nationkey = s.s_nationkey
JOIN region r ON r.r_regionkey = n.n_regionkey
WHERE o.o_orderdate >= DATE '1994-01-01'
GROUP BY r.r_name, n.n_name
