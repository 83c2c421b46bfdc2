"""`penstock sql`: the interactive shell.

| module | what it does |
| --- | --- |
| `shell` | the loop: reads a statement, runs it, shows its result |
| `statement` | whether what has been typed is a whole statement |
| `commands` | the dot commands |
| `complete` | completion |
"""
