"""Circuits at work, step by step: each operator on Spark or in the process.

| module       | what is in it                                                              |
| ------------ | -------------------------------------------------------------------------- |
| engine       | the circuits of one pipeline at work, step by step                         |
| surface      | the engine as it is known above: relations, changes, contents              |
| following    | a step's work in the order in which tables that views write into are known |
| result       | what the engine makes of a step, until it is committed or discarded        |
| held         | circuits that may have to come back                                        |
| installed    | one circuit in the engine: its runners and their measurements              |
| beginning    | what a circuit that is made late starts with                               |
| obstacles    | why the answer of a circuit cannot be made of rows piece by piece          |
| placing      | which operators work in the process, and why the others do not             |
| splitting    | operators with state over projections, which alone are Spark's             |
| foreseeing   | the same of a program that does not run yet                                |
| native       | an operator in the process among those on Spark                            |
| native_lines | waterlines as constants of DuckDB's SQL                                    |
| raising      | rows of a change for which an expression raises, by one query              |
| schemas      | the Spark schemas of the changes in a circuit                              |
| typed        | types that no JVM is asked for                                             |
| answering    | queries answered in the process                                            |
| view_content | the maintained content of a view in the process                            |
| analysing    | what Spark has against views that do not run                               |
| handing      | what the user gets of Spark where nothing lies there                       |
| reported     | exceptions of either backend, in the same words                            |
| remembered   | what the backends remember, for a snapshot                                 |
| moving       | what a snapshot remembers, where another engine or master goes on from it  |
| owing        | an operator with other last digits than were given before it               |
| terms        | what is computed of rows when they come: in the process, or by Spark       |
| constants    | constant expressions evaluated: in the process, or by Spark                |
| profiler     | the cost of each operator, while that is asked for                         |
"""
