"""Random programs and changes, judged after every step by the batch oracle and by DuckDB.

The life of one round: `tables` makes up a schema, `queries` the views, `changes` the steps; together they are a `Case`
(`programs`), which `check` runs and judges. What fails `reduce` makes small, and `report` writes it as a case file.

| module | what it does |
| --- | --- |
| `__main__` | `python -m penstock.testing.fuzz` |
| `dice` | the only source of chance: a seed, or Hypothesis, which then shrinks as well |
| `tables` | makes up tables and values |
| `changes` | makes up steps |
| `programs` | makes up a program with its steps |
| `queries` | makes up queries, out of the parts below |
| `relations` | FROM clauses |
| `expressions` | scalar expressions |
| `aggregates` | aggregate calls |
| `over` | OVER clauses |
| `subqueries` | subqueries in expressions |
| `recursion` | views that read each other |
| `check` | runs a program, and compares every view with the oracle after every step |
| `duck` | asks DuckDB the same |
| `mirrored` | runs a program with each operator in the other place, and compares the changes |
| `raising` | programs that may raise: batch and both engines say the same, and set the same rows aside |
| `plans` | compares bound plans with the text of their queries, in Spark |
| `reading` | compares bound plans with the text of their queries, in DuckDB |
| `reduce` | makes a failing program small |
| `report` | writes a finding as a case file |
| `reference` | Spark's own examples of its functions |
| `answers` | runs these examples as views |
"""
