-- Profit on parts of a colour, by nation and year: six tables, one joined by two columns.
SELECT n.n_name, year(o.o_orderdate) AS ordered,
       sum(l.l_extendedprice * (1 - l.l_discount) - ps.ps_supplycost * l.l_quantity) AS profit
FROM part p
JOIN lineitem l ON l.l_partkey = p.p_partkey
JOIN partsupp ps ON ps.ps_partkey = l.l_partkey AND ps.ps_suppkey = l.l_suppkey
JOIN supplier s ON s.s_suppkey = l.l_suppkey
JOIN orders o ON o.o_orderkey = l.l_orderkey
JOIN nation n ON n.n_nationkey = s.s_nationkey
WHERE p.p_name LIKE '%chocolate%'
GROUP BY n.n_name, year(o.o_orderdate)
