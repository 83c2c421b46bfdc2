"""The clauses of a SELECT: its list, GROUP BY, aggregates, ORDER BY.

| module | what is in it |
| --- | --- |
| `aggregates` | GROUP BY and aggregate functions |
| `column_names` | the names that Spark gives to the columns of a SELECT list |
| `empty_aggregates` | aggregates over no rows: their values, and the rows that a correlated subquery has for them |
| `grouping` | GROUP BY: ordinals, aliases, ALL, and GROUPING SETS, CUBE and ROLLUP as sets of positions |
| `grouping_sets` | GROUPING SETS, CUBE and ROLLUP |
| `ordering` | ORDER BY, LIMIT and OFFSET |
| `stars` | the SELECT list: `*` expanded, names given to what has none |
"""
