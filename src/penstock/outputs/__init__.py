"""Where the changes of views go.

| module | what it does |
| --- | --- |
| `textual` | rows as text for people, in columns or a line for each value |
| `lines` | lines on a stream, or a file for each step in a folder |
| `forms` | changes as a changelog, as inserts and deletes, or as upserts by a key |
| `order` | the order of rows that people are shown |
| `names` | the name of a view as that of a file |
| `ownership` | whose a folder of changes is |
"""
