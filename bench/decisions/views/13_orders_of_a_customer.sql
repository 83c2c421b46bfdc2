-- How many customers have how many orders, those without any among them: an outer join, counted twice.
SELECT counted.orders, count(*) AS customers
FROM (
    SELECT c.c_custkey, count(o.o_orderkey) AS orders
    FROM customer c
    LEFT JOIN orders o ON o.o_custkey = c.c_custkey AND o.o_comment NOT LIKE '%pending%deposits%'
    GROUP BY c.c_custkey) AS counted
GROUP BY counted.orders
