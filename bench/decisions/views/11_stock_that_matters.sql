-- Parts of which a nation has more than a supplier there has of a part on average: HAVING over a subquery.
SELECT ps.ps_partkey, sum(ps.ps_availqty) AS things, sum(ps.ps_supplycost * ps.ps_availqty) AS worth
FROM partsupp ps
JOIN supplier s ON s.s_suppkey = ps.ps_suppkey
JOIN nation n ON n.n_nationkey = s.s_nationkey
WHERE n.n_name = 'KENYA'
GROUP BY ps.ps_partkey
HAVING sum(ps.ps_availqty) > (
    SELECT avg(ps2.ps_availqty)
    FROM partsupp ps2
    JOIN supplier s2 ON s2.s_suppkey = ps2.ps_suppkey
    JOIN nation n2 ON n2.n_nationkey = s2.s_nationkey
    WHERE n2.n_name = 'KENYA')
