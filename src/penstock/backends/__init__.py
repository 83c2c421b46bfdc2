"""Engines that evaluate queries and keep state.

| module | what is in it                                             |
| ------ | --------------------------------------------------------- |
| native | DuckDB in the process of the pipeline                     |
| spark  | DataFrames, on this machine or a cluster                  |
"""
