"""Engines that evaluate queries and keep state.

| module | what is in it                                             |
| ------ | --------------------------------------------------------- |
| native | DuckDB in the process of the pipeline                     |
"""
