"""DuckDB in the process of the pipeline: what is proven to mean there what it means on Spark.

| module | what is in it                                                               |
| ------ | --------------------------------------------------------------------------- |
| proof  | an expression in DuckDB's SQL, and the refusal of one that is not proven     |
"""
