"""One file for each command.

| module | command |
| --- | --- |
| `check` | is the program right? |
| `explain` | how each view is maintained |
| `run` | runs a program and follows its sources |
| `deploy` | another program takes the place of one that runs |
| `state` | what lies in a directory, without starting it; its archive |
| `query` | one question to a program |
| `changes` | the changes of one view, live |
| `sql` | the interactive shell |
| `test` | runs case files |
| `verify` | whether every view equals its query, run in batch |
| `fsck` | the files of a directory, checked and mended |
| `demo` | the flights of 2013 |
| `bench` | the benchmarks |
"""
