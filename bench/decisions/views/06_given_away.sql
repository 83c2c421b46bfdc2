-- What small discounts on small lines of a year amount to: one row.
SELECT sum(l_extendedprice * l_discount) AS given, count(*) AS n
FROM lineitem
WHERE l_shipdate >= DATE '1995-01-01' AND l_shipdate < DATE '1996-01-01'
  AND l_discount BETWEEN 0.02 AND 0.06 AND l_quantity < 25
