"""Circuits: plans as incremental operators, still without Spark.

| module        | what is in it                                                                    |
| ------------- | -------------------------------------------------------------------------------- |
| build         | the circuit of all views: from plans to operators                                |
| operators     | the operators as descriptions, a file for each class; the circuit that they make |
| partials      | aggregates as partial results that can be added up                               |
| buckets       | aggregates without GROUP BY in two steps, within buckets of rows and over them   |
| collated      | texts that a collation holds equal: which of them is shown                       |
| rounds        | recursion by change: bodies with the round of each row                           |
| window_chains | windows over windows that can be one operator                                    |
| reading       | how views are read: by their plans, or behind LATENESS                           |
| error_view    | which plans read `error_view`                                                    |
| narrowing     | sources without the columns that nobody reads                                    |
| forgetting    | which rows of state no input can touch again                                     |
| lookback      | the same of windows: rows that later rows do not look back on                    |
| clock         | the same of filters on the clock                                                 |
| closing       | a key that determines a column with a waterline                                  |
| boundedness   | what each operator keeps, whether that stays bounded, and what would bound it    |
| reports       | the rows that a view has not taken, since they were late for it                  |
| raised        | errors in Spark's words that an engine is made to raise, and how they are known  |
| column_names  | columns that the binder has named, as the program would say it                   |
| streaming     | SELECT STREAM: when its rows are final, or why they never are                    |
| demands       | `SET unbounded_state`: views that are refused for their state                    |
| lineage       | where the rows of an operator come from, and the tables that an expression reads |
| measured      | what was measured of operators, as values                                        |
| places        | where operators work: in the process or on Spark, and what keeps them there      |
"""
