"""Tables of a lake as sources: a content at a version, then the change of each version that follows.

| module | what it holds |
| --- | --- |
| `api` | what a lake's table is asked for: versions, contents, changes |
| `columns` | the columns of a version that are read |
| `position` | how far a table has been read: a version, or a part of a content |
| `netting` | the rows that a change takes away and brings, without those that it only moves |
| `source` | the rows as a source: contents by parts, changes whole |
| `opening` | a source, from the properties that all of them have |
| `declared` | what every such table may say |
"""
