-- Suppliers with twice as much of a part as they have sold of it in a year: IN, and in it a correlated SUM.
SELECT s.s_name, n.n_name
FROM supplier s
JOIN nation n ON n.n_nationkey = s.s_nationkey
WHERE s.s_suppkey IN (
    SELECT ps.ps_suppkey
    FROM partsupp ps
    WHERE ps.ps_partkey IN (SELECT p.p_partkey FROM part p WHERE p.p_name LIKE 'g%')
      AND ps.ps_availqty > 2 * (
        SELECT sum(l.l_quantity)
        FROM lineitem l
        WHERE l.l_partkey = ps.ps_partkey AND l.l_suppkey = ps.ps_suppkey
          AND l.l_shipdate >= DATE '1994-01-01' AND l.l_shipdate < DATE '1995-01-01'))
