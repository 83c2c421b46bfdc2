-- Lines of less than a fifth of what is usual for their part: a correlated AVG over the table itself.
SELECT p.p_brand, sum(l.l_extendedprice) AS price, count(*) AS n
FROM lineitem l
JOIN part p ON p.p_partkey = l.l_partkey
WHERE p.p_container LIKE 'MED%'
  AND l.l_quantity * 5 < (SELECT avg(l2.l_quantity) FROM lineitem l2 WHERE l2.l_partkey = p.p_partkey)
GROUP BY p.p_brand
