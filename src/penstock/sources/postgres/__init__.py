"""PostgreSQL, over psycopg.

| module | what it holds |
| --- | --- |
| `connection` | how a database is reached, tables by their names, and its errors as ours without any secret |
"""
