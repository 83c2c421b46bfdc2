-- What one nation sells in a region, beside all that is sold there: eight tables.
SELECT year(o.o_orderdate) AS ordered,
       sum(CASE WHEN sn.n_name = 'INDIA' THEN l.l_extendedprice * (1 - l.l_discount) ELSE 0 END) AS theirs,
       sum(l.l_extendedprice * (1 - l.l_discount)) AS everything
FROM part p
JOIN lineitem l ON l.l_partkey = p.p_partkey
JOIN supplier s ON s.s_suppkey = l.l_suppkey
JOIN orders o ON o.o_orderkey = l.l_orderkey
JOIN customer c ON c.c_custkey = o.o_custkey
JOIN nation cn ON cn.n_nationkey = c.c_nationkey
JOIN region r ON r.r_regionkey = cn.n_regionkey
JOIN nation sn ON sn.n_nationkey = s.s_nationkey
WHERE r.r_name = 'EUROPE' AND p.p_type LIKE 'STANDARD%'
GROUP BY year(o.o_orderdate)
