-- What was billed, by state of the line.
SELECT l_returnflag, l_linestatus, sum(l_quantity) AS quantity, sum(l_extendedprice) AS price,
       sum(l_extendedprice * (1 - l_discount)) AS revenue, max(l_discount) AS best_discount, count(*) AS n
FROM lineitem
WHERE l_shipdate <= DATE '1998-08-15'
GROUP BY l_returnflag, l_linestatus
