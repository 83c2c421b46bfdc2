"""Tables of lakes as outputs have in common: a step's rows, whose a table is, and which columns it has.

| module | what it does |
| --- | --- |
| `rows` | a step's change as rows that are added, and keys that go |
| `fitting` | the columns of a table against those that are written into it |
"""
