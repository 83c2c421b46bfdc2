-- What promotions bring in, month by month, beside all revenue.
SELECT year(l.l_shipdate) AS shipped, month(l.l_shipdate) AS in_month,
       sum(CASE WHEN p.p_type LIKE 'PROMO%' THEN l.l_extendedprice * (1 - l.l_discount) ELSE 0 END) AS promoted,
       sum(l.l_extendedprice * (1 - l.l_discount)) AS everything
FROM lineitem l
JOIN part p ON p.p_partkey = l.l_partkey
GROUP BY year(l.l_shipdate), month(l.l_shipdate)
