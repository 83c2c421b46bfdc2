"""Queries: one SELECT, set operations, WITH; and those that Spark recomputes whole.

| module | what is in it |
| --- | --- |
| `clauses` | the clauses of one SELECT behind FROM and WHERE, bound |
| `ctes` | WITH and WITH RECURSIVE: the context with what they declare |
| `limited_groups` | LIMIT n BY c, which is a condition on the number of a row |
| `one_select` | one SELECT: FROM, WHERE, GROUP BY, HAVING, OVER, QUALIFY, the SELECT list, DISTINCT, ORDER BY … LIMIT |
| `output` | the rows of one SELECT as its list names them: DISTINCT, ORDER BY, LIMIT |
| `recompute` | queries that no plan node expresses, left to Spark to recompute |
| `recompute_columns` | the columns of a query that is recomputed, and of what stands in its FROM |
| `recompute_text` | a recomputed query in words whose answer no order of rows changes (SEMANTICS 0) |
| `recursive_windows` | the refusal of window functions over the rows of a recursion |
| `set_operations` | UNION, INTERSECT and EXCEPT, with or without ALL |
| `substreams` | PARTITION BY behind FROM |
| `whole_query` | whole queries |
"""
