-- The twenty customers who sent back most in a quarter.
SELECT c.c_custkey, c.c_name, n.n_name, sum(l.l_extendedprice * (1 - l.l_discount)) AS lost
FROM customer c
JOIN orders o ON o.o_custkey = c.c_custkey
JOIN lineitem l ON l.l_orderkey = o.o_orderkey
JOIN nation n ON n.n_nationkey = c.c_nationkey
WHERE l.l_returnflag = 'R' AND o.o_orderdate >= DATE '1993-07-01' AND o.o_orderdate < DATE '1993-10-01'
GROUP BY c.c_custkey, c.c_name, n.n_name
ORDER BY lost DESC, c.c_custkey
LIMIT 20
