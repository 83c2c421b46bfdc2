-- Revenue of any of three offers: a join under conditions joined by OR.
SELECT sum(l.l_extendedprice * (1 - l.l_discount)) AS revenue, count(*) AS n
FROM lineitem l
JOIN part p ON p.p_partkey = l.l_partkey
WHERE l.l_shipmode IN ('AIR', 'TRUCK')
  AND ((p.p_brand = 'Brand#11' AND p.p_container LIKE 'SM%' AND l.l_quantity BETWEEN 1 AND 15 AND p.p_size <= 10)
    OR (p.p_brand = 'Brand#24' AND p.p_container LIKE 'MED%' AND l.l_quantity BETWEEN 10 AND 30 AND p.p_size <= 20)
    OR (p.p_brand = 'Brand#52' AND p.p_container LIKE 'LG%' AND l.l_quantity BETWEEN 20 AND 45 AND p.p_size <= 30))
