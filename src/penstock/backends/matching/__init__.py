"""MATCH_RECOGNIZE at work: one function over the rows of a partition, alike for Spark and DuckDB.

A query collects the rows of each partition in their order and gives them to the function `penstock_match`, which says
for each match which rows its columns are taken from. Values stay in the engine, but for those that conditions read.

| module | what is in it |
| --- | --- |
| `program` | what the search has to know, as values and as the text that the function is given |
| `spelling` | a node as that text |
| `instructions` | a pattern as instructions for a search that goes back |
| `values` | conditions and measures as functions over the rows of a match, with Spark's meaning |
| `search` | the search for one match, from one row on |
| `partition` | all matches of a partition, and what is shown of them |
| `function` | the function over columns of Arrow, and over the rows that Spark gives |
| `query` | the query around the function |
"""
