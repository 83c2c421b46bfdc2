"""Where the changes of views go.

| module | what it does |
| --- | --- |
| `sink` | the outputs that a program declares, and what is known of them |
| `declared` | the properties that all of them have |
| `accepting` | in which form, and by which key, an output takes what its query gives; if none, why |
| `connectors` | connectors by name, and what is checked of a program's outputs |
| `loops` | outputs that write what the same program reads |
| `installed` | connectors that other packages bring |
| `receiver` | the interface of what takes steps, and its errors |
| `files/` | the connector `files`: finished files of steps in a folder |
| `postgres/` | the connector `postgres`: a table, upserted or added to in a transaction for each step |
| `kafka/` | the connectors `kafka` and `upsert-kafka`: a topic, a transaction for each step |
| `delta/` | the connector `delta`: a table of Delta Lake, added to or merged by key in a commit for each step |
| `iceberg/` | the connector `iceberg`: a table of Iceberg, added to or merged by key in a commit for each step |
| `webhook` | the connector `http`: each step sent to an address |
| `lake/` | what outputs to tables of lakes have in common: a step's rows, the columns that fit |
| `blackhole` | the connector `blackhole`: changes that go nowhere |
| `printed` | the connector `print`: lines on stdout |
| `rendered` | values as CSV and as text |
| `zoned` | points in time as text, where the zone is not UTC |
| `textual` | rows as text for people, in columns or a line for each value |
| `lines` | lines on a stream, or a file for each step in a folder |
| `forms` | changes as a changelog, as inserts and deletes, or as upserts by a key |
| `order` | the order of rows that people are shown |
| `names` | the name of a view as that of a file |
| `ownership` | whose a folder of changes is |
"""
