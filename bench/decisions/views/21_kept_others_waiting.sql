-- Suppliers who alone were late with an order of several suppliers: EXISTS and NOT EXISTS over the same table.
SELECT s.s_name, count(*) AS orders
FROM supplier s
JOIN lineitem l ON l.l_suppkey = s.s_suppkey
JOIN orders o ON o.o_orderkey = l.l_orderkey
WHERE o.o_orderstatus = 'F' AND l.l_receiptdate > l.l_commitdate
  AND EXISTS (
    SELECT 1 FROM lineitem other WHERE other.l_orderkey = l.l_orderkey AND other.l_suppkey <> l.l_suppkey)
  AND NOT EXISTS (
    SELECT 1 FROM lineitem late
    WHERE late.l_orderkey = l.l_orderkey AND late.l_suppkey <> l.l_suppkey AND late.l_receiptdate > late.l_commitdate)
GROUP BY s.s_name
