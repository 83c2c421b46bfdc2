"""Windows of time: TUMBLE, HOP, CUMULATE and SESSION, in FROM and in GROUP BY.

| module | what is in it |
| --- | --- |
| `bounded_sessions` | sessions with a longest length or with rows that begin and end them |
| `closing_sessions` | AFTER SESSION CLOSE: rows with the number of their session |
| `grids` | the grid on which windows of time begin: at 1970-01-01 00:00 of a time zone, and every step from there |
| `group_functions` | group functions of time |
| `in_group_by` | TUMBLE, HOP and SESSION in GROUP BY: every row in its windows |
| `open_windows` | rows that came before a window of theirs had ended, and the windows that had not |
| `sessions` | SESSION: the rows of a key whose times follow each other within a gap, as a relation in FROM |
| `tables` | time windows: TUMBLE, HOP and CUMULATE over a relation in FROM |
| `ungrouped` | an aggregate over windows of time that does not tell the windows apart |
| `times` | the time of a row, and where its windows begin: what all windows of time ask |
"""
