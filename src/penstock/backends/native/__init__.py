"""DuckDB in the process of the pipeline: what is proven to mean there what it means on Spark.

| module       | what is in it                                                               |
| ------------ | --------------------------------------------------------------------------- |
| aggregates   | Spark's aggregates as DuckDB's, with their types and errors                 |
| comparing    | values told apart and ordered: in keys, in ORDER BY, as a whole row         |
| expressions/ | Spark's operators and functions in DuckDB's SQL, a table for each theme     |
| generators   | generators that give a known number of rows for each row                    |
| joins        | joins as DuckDB's SQL                                                       |
| proof        | an expression in DuckDB's SQL, and the refusal of one that is not proven    |
| raised       | errors that DuckDB raises in the place of Spark's, and how they are known   |
| render       | plans as DuckDB's SQL                                                       |
| scalars      | the proof of a scalar expression of a plan                                  |
| wide_sums    | sums of DECIMALs of so many digits that they may overflow                   |
| windows      | Spark's window calls as DuckDB's                                            |
"""
