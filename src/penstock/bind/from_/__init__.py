"""FROM: relations, joins, generators, pivots, sessions, and windows of time over a relation.

| module | what is in it |
| --- | --- |
| `arriving` | changelog and dedup, which go by the order in which rows arrive |
| `asof` | ASOF JOIN: each left row with the one right row that matches and lies closest |
| `constant_rows` | table functions of constants: `range(…)` and the like |
| `derived` | derived tables and CTEs, which see nothing of the query around them |
| `generator_columns` | the names and types of the columns that a generator gives |
| `generators` | generators: LATERAL VIEW, UNNEST, `explode` in FROM and in the SELECT list, and lateral subqueries |
| `histories` | the history of a relation: every version of its rows |
| `join_condition` | ON: both sides of a join on what its condition says |
| `join_kind` | the kind of a join, from the words before JOIN |
| `join_subqueries` | joins whose condition asks subqueries |
| `joins` | JOIN: what FROM has so far, joined with one more relation |
| `latest` | LATEST JOIN: the last row of the right side for each key |
| `laterals` | LATERAL in FROM: functions and subqueries that read the relations before them, with ON or without |
| `lookups` | FOR SYSTEM_TIME AS OF the time at which a row comes: a look-up, never revised |
| `pivots` | PIVOT: an aggregate with a FILTER for each value, grouped by all other columns; UNPIVOT is in `unpivots` |
| `relations` | FROM: its relations, one after the other |
| `unpivots` | UNPIVOT: each row once for every listed column (or group of columns), with its name and its value |
| `using` | USING and NATURAL: columns of both sides that are compared, and are one column behind the join |
| `values` | VALUES: constant rows |
| `versions` | FOR SYSTEM_TIME AS OF: the rows of a relation as they were at a time |
"""
