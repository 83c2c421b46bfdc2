-- Orders of a year with a line that came late, by priority: EXISTS.
SELECT o.o_orderpriority, count(*) AS n
FROM orders o
WHERE o.o_orderdate >= DATE '1996-01-01' AND o.o_orderdate < DATE '1997-01-01'
  AND EXISTS (SELECT 1 FROM lineitem l WHERE l.l_orderkey = o.o_orderkey AND l.l_receiptdate > l.l_commitdate)
GROUP BY o.o_orderpriority
