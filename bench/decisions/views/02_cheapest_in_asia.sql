-- Who in Asia sells a small part for the least that anybody there asks: a correlated MIN over four tables.
SELECT s.s_name, n.n_name, p.p_partkey, p.p_mfgr, ps.ps_supplycost
FROM part p
JOIN partsupp ps ON ps.ps_partkey = p.p_partkey
JOIN supplier s ON s.s_suppkey = ps.ps_suppkey
JOIN nation n ON n.n_nationkey = s.s_nationkey
JOIN region r ON r.r_regionkey = n.n_regionkey
WHERE r.r_name = 'ASIA' AND p.p_size <= 5 AND p.p_type LIKE '%BRASS'
  AND ps.ps_supplycost = (
    SELECT min(ps2.ps_supplycost)
    FROM partsupp ps2
    JOIN supplier s2 ON s2.s_suppkey = ps2.ps_suppkey
    JOIN nation n2 ON n2.n_nationkey = s2.s_nationkey
    JOIN region r2 ON r2.r_regionkey = n2.n_regionkey
    WHERE r2.r_name = 'ASIA' AND ps2.ps_partkey = p.p_partkey)
