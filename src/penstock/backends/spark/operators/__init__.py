"""Operators at work, a file for each class; `make` chooses.

| module     | what is in it                                                        |
| ---------- | -------------------------------------------------------------------- |
| make       | the runner for each class of operator                                |
| runner     | what every running operator has in common                            |
| linear     | constant rows, linear chains, and filters on the clock               |
| absent     | linear chains without the inputs that did not change                 |
| cleaned    | views without their late rows                                        |
| arriving   | the rows of a step alone, and what came of them                      |
| join       | inner and cross joins                                                |
| additive   | GROUP BY with partial results                                        |
| counted    | DISTINCT, INTERSECT, EXCEPT                                          |
| grouped    | state by group whose changes can be added up: which way a step takes |
| touching   | the usual way: the touched groups alone                              |
| rewriting  | the way of a large change: one pass over all groups                  |
| groupstate | what both ways have in common                                        |
| entries    | the entries of such a state, as Spark SQL                            |
| matching   | MATCH_RECOGNIZE: key by key, without the rows that no match can need |
| keyed      | what works key by key: touched keys are computed anew                |
| best       | Top-K by key over rows that are never taken back                     |
| ranked     | Top-K without a key                                                  |
| sessions   | SESSION: the sessions next to the change                             |
| recomputed | queries computed anew and compared                                   |
| iterated   | recursive views, round by round                                      |
| waiting    | rows that wait for their round                                       |
| nested     | a circuit inside an operator, which may run several times in a step  |
"""
