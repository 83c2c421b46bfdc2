"""DuckDB in the process of the pipeline: what is proven to mean there what it means on Spark.

| module       | what is in it                                                               |
| ------------ | --------------------------------------------------------------------------- |
| aggregates   | Spark's aggregates as DuckDB's, with their types and errors                 |
| asked        | single values that only Spark can tell, asked of it                         |
| collecting   | traces without what their operator may forget                               |
| comparing    | values told apart and ordered: in keys, in ORDER BY, as a whole row         |
| dialect      | DuckDB's SQL for the nodes of plans                                         |
| expressions/ | Spark's operators and functions in DuckDB's SQL, a table for each theme     |
| functions    | functions of Penstock that DuckDB calls                                      |
| generators   | generators: numbered rows for each row, and the elements of lists           |
| interrupts   | Ctrl-C while DuckDB works                                                   |
| json_texts   | values within texts of JSON                                                 |
| letters      | letters in the other case, where Spark knows them otherwise                 |
| lists        | aggregates that the binder has written with sorted lists of rows            |
| listing      | docs/reference/proven.md: what is proven, as the proofs say                 |
| memory       | how much memory state may take                                              |
| not_in       | NOT IN as DuckDB's SQL                                                      |
| kinds        | types as they lie in DuckDB and in Arrow                                    |
| operators/   | operators at work, a file for each class                                    |
| proof        | an expression in DuckDB's SQL, and the refusal of one that is not proven    |
| raised       | errors that DuckDB raises in the place of Spark's                           |
| room         | memory that values and statements take beside the tables of the store       |
| scalars      | the proof of a scalar expression of a plan                                  |
| wide_sums    | sums of DECIMALs of so many digits that they may overflow                   |
| sketch       | a store without tables, to learn what is proven                             |
| store        | one connection for an engine, whose step is one transaction                 |
| stored       | rows of a table, found by some of their columns                             |
| touched_keys | the keys that many operations on such a table touch                         |
| lines        | derived waterlines over times                                               |
| trace        | what an operator remembers of a relation, in one table                      |
| typing       | types that the binder has left open, where a proof gives them               |
| windows      | Spark's window calls as DuckDB's                                            |
"""
