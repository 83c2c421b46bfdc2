-- How many suppliers without complaints there are for parts of a kind: NOT IN, COUNT(DISTINCT).
SELECT p.p_brand, p.p_type, p.p_size, count(DISTINCT ps.ps_suppkey) AS suppliers
FROM partsupp ps
JOIN part p ON p.p_partkey = ps.ps_partkey
WHERE p.p_brand <> 'Brand#33' AND p.p_type NOT LIKE 'SMALL%' AND p.p_size IN (4, 8, 15, 16, 23, 42)
  AND ps.ps_suppkey NOT IN (SELECT s.s_suppkey FROM supplier s WHERE s.s_comment LIKE '%regular%')
GROUP BY p.p_brand, p.p_type, p.p_size
