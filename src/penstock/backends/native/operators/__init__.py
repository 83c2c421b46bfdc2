"""Operators at work in DuckDB, a file for each class.

| module     | what is in it                                                                    |
| ---------- | -------------------------------------------------------------------------------- |
| operator   | what every operator has in common                                                |
| text       | queries whose inputs are named when they run                                     |
| linear     | filters, projections, unions, generators: the change alone; constants            |
| clocked    | the same where they read the clock                                               |
| join       | inner and cross joins                                                            |
| grouped    | state by group whose changes can be added up                                     |
| additive   | GROUP BY with partial results                                                    |
| partials   | the partial results of aggregates, and the answers over them                     |
| counted    | DISTINCT, INTERSECT, EXCEPT                                                      |
| matching   | MATCH_RECOGNIZE: key by key, without the rows that no match can need             |
| keyed      | key by key: old and new rows of the touched keys, in one pass                    |
| asof       | ASOF JOIN: key by key, from the first time on that a step changes                  |
| answered   | key by key: the last answer is kept, and taken back as it was given              |
| reduced    | the same for MIN and MAX beside sums: rows are added up value by value           |
| by_value   | the sums by value of all rows of groups: kept where they are few                 |
| best       | Top-K of rows that are only added: the best rows are kept as they were answered  |
| touched    | the keys that a step touches, and the remembered rows of those keys              |
| sessions   | SESSION: the sessions next to the change                                         |
| recomputed | queries without a key to go by                                                   |
| make       | the operator for each class                                                      |
"""
