"""Subqueries in expressions: left as marks, then joined to the query around them.

| module | what is in it |
| --- | --- |
| `attach` | subqueries become joins: the marks in a query's expressions are replaced by columns of what is joined |
| `correlation` | WHERE of a subquery: which conditions tie it to the enclosing query, and how a join can carry them |
| `grouped` | subqueries that GROUP BY and another clause both have |
| `lookups` | the answers of a subquery, looked up for each row of the query around it: joins on keys of both |
| `membership` | IN and NOT IN of a query as values |
| `over_domain` | subqueries bound over their domain: the distinct values that they read of the query around them |
| `quantified` | comparisons with ANY or ALL of a query: `x > ALL (SELECT …)` |
| `subquery` | subqueries in expressions, left as marks until the query's plan is there to join them with |
"""
