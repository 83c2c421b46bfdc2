-- Customers with more than the usual balance and no orders since a day, by the code of their country.
SELECT substring(c.c_phone, 1, 2) AS code, count(*) AS n, sum(c.c_acctbal) AS balance
FROM customer c
WHERE c.c_acctbal > (SELECT avg(c2.c_acctbal) FROM customer c2 WHERE c2.c_acctbal > 0)
  AND NOT EXISTS (SELECT 1 FROM orders o WHERE o.o_custkey = c.c_custkey AND o.o_orderdate >= DATE '1996-06-01')
GROUP BY substring(c.c_phone, 1, 2)
