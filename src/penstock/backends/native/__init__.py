"""DuckDB in the process of the pipeline: what is proven to mean there what it means on Spark.

| module     | what is in it                                                               |
| ---------- | --------------------------------------------------------------------------- |
| aggregates | Spark's aggregates as DuckDB's, with their types and errors                 |
| comparing  | values told apart and ordered: in keys, in ORDER BY, as a whole row         |
| failure    | Spark's error of a value, as an expression that fails                       |
| joins      | joins as DuckDB's SQL                                                       |
| proof      | an expression in DuckDB's SQL, and the refusal of one that is not proven    |
| render     | plans as DuckDB's SQL                                                       |
| windows    | Spark's window calls as DuckDB's                                            |
"""
