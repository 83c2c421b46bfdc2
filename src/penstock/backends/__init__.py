"""Engines that evaluate queries and keep state.

| module     | what is in it                                          |
| ---------- | ------------------------------------------------------ |
| native     | DuckDB in the process of the pipeline                  |
| spark      | DataFrames, on this machine or a cluster               |
| api        | what both have: changes, operators at work, the contents of views and tables |
| rules      | what each operator does in a step, once for both       |
| gates      | LATENESS of a view, as the engine knows it             |
| sound      | values that Python, or Spark, cannot hold              |
| judging    | how rows are judged by LATENESS                        |
| reported   | exceptions of a backend, as far as they are told on    |
| libraries  | the libraries whose values are remembered              |
| render     | plans as SQL: what each node means, once for both      |
| dialect    | what the SQL of each has of its own                    |
| joins      | joins as SQL                                           |
| asof       | ASOF JOIN as SQL, in one pass over the rows of a key   |
| matching   | MATCH_RECOGNIZE: a function over partitions, and its SQL |
| thresholds | from how many rows on a step does something else       |
| clock      | queries that read the clock, with a step's in them     |
| waterlines | values beside a waterline: which are below it          |
| lines      | waterlines as SQL                                      |
| scans      | which parts of traces have been read, while that is measured |
| columns    | declared types as Arrow types                          |
| leaves     | Arrow columns changed at their leaves, however deep    |
| parts      | values within values: what is done with each part of a type |
| weighted   | rows with weights as Arrow tables                      |
| cancelling | rows of a change that cancel one another, in Arrow     |
| portable   | what an operator remembers, in a form of no engine     |
| rows       | rows of Arrow as Python values, and when they are equal |
| surroundings | files that cannot be written, and disks that are full |
| spool      | rows that come piece by piece, many of them in a file that memory maps |
| temporary  | temporary folders, removed when their process ends     |
"""
