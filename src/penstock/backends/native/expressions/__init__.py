"""Spark's operators and functions in DuckDB's SQL, a table for each theme; what stands in none is not proven.

| module       | what is in it                                                                   |
| ------------ | ------------------------------------------------------------------------------- |
| arithmetic   | `+`, `-`, `*`, `/`, `%`, div, signs, bits                                       |
| bitwise      | shifts, and counts of bits                                                      |
| casts        | a value in another type                                                         |
| clock        | now() and its like                                                              |
| coercion     | casts that Spark adds by itself                                                 |
| comparisons  | `=`, `<`, IN, BETWEEN, greatest, least                                          |
| conditionals | AND, OR, NOT, CASE, IF, COALESCE and their like                                 |
| decimals     | arithmetic of exact numbers                                                     |
| digits       | digits of exact numbers                                                         |
| formats      | times as `date_format` writes them                                              |
| fractions    | a DOUBLE or FLOAT as text, in Java's notation                                   |
| json_paths   | what stands at a path of a text of JSON                                         |
| kinds        | Spark's types as DuckDB's, and types that values have together                  |
| literals     | constants                                                                       |
| maps         | values of keys, parts of MAPs, MAPs of values                                   |
| moments      | texts read as times                                                             |
| months       | months between times, days of a week, and seconds as texts                      |
| nested       | structs and arrays                                                              |
| numerals     | texts read as DOUBLE, FLOAT and DECIMAL                                         |
| once         | an expression over values each of which is computed once, in Spark's order      |
| patterns     | LIKE and regular expressions                                                    |
| pieces       | texts cut into pieces, and others put in their place                            |
| rounding     | floor, ceil, round, sign, sqrt                                                  |
| site         | a call that is translated: its arguments, and the words for what is not proven  |
| spans        | interval literals                                                               |
| strings      | functions of texts and bytes                                                    |
| texts        | texts read as other types, and dates and times as texts                         |
| times        | dates and times                                                                 |
"""
