"""The command line: renderers of the same events, diagnostics and results that Python gets; no logic of its own.

| module | what it does |
| --- | --- |
| `main` | the command group |
| `starting` | what a command leaves out to start quickly |
| `commands/` | one file for each command |
| `options` | options that several commands share |
| `programs` | program text from files, stdin and -e |
| `interpreter` | a program whose statements run one after the other |
| `views` | which views a command is about |
| `repl/` | the interactive shell |
| `attach/` | a shell that asks a pipeline in another process |
| `results` | rows on stdout, in each format |
| `changes` | changes of views on stdout |
| `emissions` | rows of standing queries on stdout |
| `show` | SHOW and DESCRIBE |
| `definitions` | the statements that declare a table or view again |
| `progress` | how far a run is, on stderr |
| `watch` | how a run is watched: progress or lines of JSON, metrics, traces |
| `deploying` | a change of program as text |
| `resting` | a change of program in a directory in which nobody runs |
| `directory` | what lies in a pipeline's directory as text |
| `rejected` | why rows were rejected, and how many, on stderr |
| `profile` | what each operator has cost, on stderr |
| `annotations` | diagnostics as SARIF, and as workflow commands of GitHub |
| `junit` | results of cases as JUnit XML |
| `reporting` | errors and notes on stderr, and exit codes |
"""
