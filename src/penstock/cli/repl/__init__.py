"""`penstock sql`: the interactive shell.

| module | what it does |
| --- | --- |
| `shell` | the loop: reads a statement, runs it, shows its result |
| `prompt` | the prompt on a terminal |
| `statement` | whether what has been typed is a whole statement |
| `commands` | the dot commands |
| `following` | `.run` and `.step`: the sources are followed |
| `output` | `.output`: results go into a file |
| `complete` | completion |
"""
