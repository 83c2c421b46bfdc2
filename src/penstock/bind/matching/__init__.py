"""MATCH_RECOGNIZE in FROM.

| module | what is in it |
| --- | --- |
| `clause` | the clause: its relation, the rows that the matcher reads, the node, and what the query sees of it |
| `variables` | the pattern, its variables and subsets, and where the search goes on |
| `rows` | the columns that are computed for each row, below the matcher |
| `looking` | expressions that look at rows of the match: FIRST, LAST, PREV, NEXT, aggregates, CLASSIFIER |
| `conditions` | conditions as the matcher evaluates them, with Spark's types |
"""
