"""Answers that would depend on the order of the rows, made independent of it.

| module | what is in it |
| --- | --- |
| `deterministic` | functions whose answer depends on the order of the rows, rewritten so that it does not |
| `sorted_lists` | aggregates as sorted lists of rows, where no aggregate of Spark keeps the order that is wanted |
| `whole_row` | the whole row, by which rows go that nothing else tells apart |
"""
