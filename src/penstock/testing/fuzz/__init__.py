"""Random programs and changes, judged after every step by the batch oracle and by DuckDB.

The life of one round: `tables` makes up a schema, `queries` the views (expressions, aggregates, windows and joins have
a file each), `changes` the steps; together they are a `Case` (`programs`), which `check` runs and judges. What fails is
made small by `reduce` and written as a case file by `report`. `dice` is the only source of chance: a seed, or
Hypothesis, which then shrinks as well.
"""
