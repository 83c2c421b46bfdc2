-- Trade between two nations, either way, by year: six tables, one of them twice.
SELECT sn.n_name AS seller, cn.n_name AS buyer, year(l.l_shipdate) AS shipped,
       sum(l.l_extendedprice * (1 - l.l_discount)) AS revenue
FROM supplier s
JOIN lineitem l ON l.l_suppkey = s.s_suppkey
JOIN orders o ON o.o_orderkey = l.l_orderkey
JOIN customer c ON c.c_custkey = o.o_custkey
JOIN nation sn ON sn.n_nationkey = s.s_nationkey
JOIN nation cn ON cn.n_nationkey = c.c_nationkey
WHERE (sn.n_name = 'CANADA' AND cn.n_name = 'JAPAN') OR (sn.n_name = 'JAPAN' AND cn.n_name = 'CANADA')
GROUP BY sn.n_name, cn.n_name, year(l.l_shipdate)
