"""Spark's operators and functions in DuckDB's SQL, a table for each theme; what stands in none is not proven.

| module        | what is in it                                                                    |
| ------------- | -------------------------------------------------------------------------------- |
| site          | a call that is translated: its arguments, and the words for what is not proven    |
| once          | an expression over values each of which is computed once, in Spark's order        |
| kinds         | Spark's types as DuckDB's, and types that values have together                    |
| digits        | digits of exact numbers                                                           |
| literals      | constants                                                                         |
| casts         | a value in another type                                                           |
| texts         | texts read as other types                                                         |
| coercion      | casts that Spark adds by itself                                                   |
| conditionals  | AND, OR, NOT, CASE, IF, COALESCE and their like                                   |
| comparisons   | `=`, `<`, IN, BETWEEN, greatest, least                                            |
| arithmetic    | `+`, `-`, `*`, `/`, `%`, div, signs                                               |
| decimals      | the same of exact numbers                                                         |
| clock         | the step's clock, a variable of the connection                                    |
"""
