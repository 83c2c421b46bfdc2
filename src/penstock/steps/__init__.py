"""One step: rows folded and judged, the engine, what is shown, the input log, and the commit that makes it so.

| module | what |
| --- | --- |
| `intake/` | rows that came in → the change of their table: folded, judged by LATENESS, held by WATERMARK |
| `rows/` | rows and values themselves: read, checked, carried between Python, Arrow and Spark |
| `stepper` | the running pipeline between its steps: `install`, `step`, and the questions that there are |
| `proposing` | the first half of a step: all is evaluated and the log staged, and nothing has happened |
| `targets` | the tables that standing statements write into, in their order |
| `written` | what standing statements write in a step |
| `setting_aside` | a step without the rows for which an expression of a view raises |
| `apart` | a step that has failed, in parts that can be left out |
| `first_row` | the first row with which a step raises, which its error names |
| `culprits` | which of many things make something fail, by trying parts of them |
| `committing` | the second half: the log has the step, and all that is remembered follows |
| `announcing` | what is told of a step: the change of each view, and the event |
| `differences` | what a view in another's place shows: what is different |
| `filling` | new views on their way to their places, piece by piece beside those at work |
| `held` | all of it as it was, for a change of program that does not happen |
| `state` | all that is remembered between steps |
| `tables` | what is remembered of tables, and what comes in judged by it |
| `views` | what is remembered of views: their content, what waits to be shown, timers |
| `contents` | what tables and views hold now, as far as it is stored |
| `waterlines` | questions about waterlines: now, after a step, and what moves them |
| `lines` | the waterlines of all sources at one moment, and those that follow from them |
| `facts` | what SHOW WATERLINES and SHOW STATE tell |
| `change` | the change of one view in one step, as the user gets it |
| `phases` | the phases of a step, and how long each takes |
| `events` | what happens in a pipeline, as frozen values |
| `failing_expression` | the expression that has raised, the view in whose text it stands, and its place there |
| `failures` | what Spark and DuckDB raise, as errors of a view, with its place |
| `interrupts` | Ctrl-C while a step is being kept |
| `log` | the input log: every accepted change, step by step |
| `latest` | the greatest times of rows, by which one knows what has gone |
| `moments` | the clock of each step |
| `saved_positions` | points between steps that have names |
| `past` | tables as they were after an earlier step |
| `checked_files` | digests of the directory's files, checked when they are read |
| `durable` | files that are there whole or not at all, and survive a power cut |
| `manifest` | what the manifest of a step says |
| `told` | what views have shown that cannot be made again to the last bit |
| `again` | a step that the log has, made again |
| `recorded` | the steps that a log has, read again |
| `exact` | values as a manifest keeps them |
| `snapshots` | all that is remembered, in the directory |
| `moving` | what a snapshot remembers, to where another engine works |
| `origin` | what a snapshot was written by |
| `memory_file` | what is remembered, as bytes: values of few classes, and no code |
| `directory` | a pipeline's directory is one process's at a time |
| `openings` | who has made each step of a directory, by which two copies of it are told apart |
"""
