"""The input of a table, on its way to the table's change.

| module | what |
| --- | --- |
| `apart` | waterlines of a source with partitions: the least of their own |
| `inputs` | what a user hands to `step()`, as checked batches |
| `bulk` | relations of the backend: few rows come to the driver, many stay where they lie |
| `fold` | operations folded by key or row, late rows set aside |
| `many` | the same for many operations on keys, all at once in the process |
| `versions` | what operations say about each key, and from when on |
| `refusing` | a step's rows without those for which a view raises |
| `gates` | LATENESS of a view's columns |
| `keyed_gate` | the same, with a waterline for each value of some columns |
| `session_gate` | the sessions of a query AFTER SESSION CLOSE, as a filter that numbers rows |
| `arriving_sessions` | sessions in the order in which rows arrive: what opens and closes them |
| `holding` | WATERMARK: rows that wait for later ones |
| `lateness` | LATENESS: waterlines, and which rows are late |
| `memory` | what is remembered of one table |
| `forgetting` | what a store may forget |
| `bases` | rows of a table that are not at hand, moved to where they belong |
| `unsent` | values that a source has not sent, since they are as they were |
| `keystore` | the row of each key |
| `remembering_gate` | dedup that remembers keys: of each key the first row, as long as the key is remembered |
| `again` | what a step has done to a table, from the log: nothing is judged a second time |
| `writes` | the rows of standing statements as operations on their table |
| `earliest` | deletions of one of several equal rows: the one that came first goes |
| `rowcounts` | how often each row is there |
"""
