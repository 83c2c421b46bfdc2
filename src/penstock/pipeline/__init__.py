"""The running pipeline: statements, transactions, queries, and the loop that follows sources.

| module | what |
| --- | --- |
| `pipeline` | `Pipeline`, which everything else goes through |
| `opening` | from a compiled program to one at work |
| `expecting` | the need of a program for Spark, told before it is at work |
| `execution` | statements at work: declarations, changes, transactions, queries |
| `dml` | INSERT, UPDATE and DELETE as operations on rows |
| `contents` | what tables and views hold, with an open transaction on top |
| `here` | queries over them, answered in the process |
| `sufficient` | which tables have all that a query needs, though rows of them have gone |
| `points` | the steps that points of the past are: AS OF, START AT, saved positions |
| `answer` | the answer of a query: its rows, or a DataFrame |
| `one_query` | a text that has to be one query, and what works in Python for another one |
| `relations` | queries as Python calls: where they begin, and what they need of the pipeline |
| `lookups` | rows of maintained content by their key |
| `reads` | what views read, and the types in which they find it |
| `supported` | what can be said of a program without Spark, beyond the binder |
| `own_files` | tables that would read what the pipeline itself keeps |
| `native_only` | what of a program needs Spark although it wants none |
| `blame` | which value of a statement is at fault |
| `alike` | plans that give the same rows, whatever columns their tables have beside |
| `deployment` | the difference between the program at work and another |
| `deploying` | a change of program: new views filled beside a run, and put in their places in one step |
| `run` | the run loop: read, step, write, choose how much to take next |
| `supervisor` | the run under way, on which thread, and what became of the last |
| `outlets` | the outputs that a program declares, at work |
| `aside` | work for which the pipeline waits a moment only |
| `parcels` | what they have not taken yet, in the directory |
| `session_queries` | which queries ended with the session that asked them |
| `recovery` | a pipeline goes on from its directory |
| `retention` | which steps of the log a directory keeps |
| `inspection` | what lies in a directory, read without starting it |
| `archives` | a directory as one file, for another machine |
| `source_facts` | what each source is doing: position, lag, rate, last error |
| `source_positions` | how far sources have been read |
| `outbox` | what outputs have still to be given |
| `subscription` | live changes of one view |
| `standing` | a standing query as its reader sees it |
| `standing_queries` | the standing queries of a pipeline |
| `directory_check` | the files of a directory, checked by their digests and mended |
| `verification` | maintained content compared with a batch answer |
| `asked` | what Spark says of a program that is not run: `penstock check --spark` asks |
"""
