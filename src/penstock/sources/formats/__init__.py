"""The formats: records cut from a stream, and made rows of a table.

| module | what it holds |
| --- | --- |
| `api` | what a format does |
| `declared` | what a table may say of its format |
| `names` | the formats by name, and how the names of their files end |
| `choice` | the format of a table's source |
| `records` | whole records of bytes, with the line ends that there are |
| `rows` | what json and csv have in common: rows of text, envelopes, rejected records |
| `connect` | Kafka Connect's envelope of JSON, and what its schema says of the values |
| `json` | one object a line: a row, or an operation with its row |
| `csv` | fields under a header or not; an optional column `__op` ('+', '-', '~') |
| `cutting` | where CSV records end, by RFC 4180 |
| `columns` | what parquet and avro have in common: columns by name |
| `legacy_calendar` | dates and times of files that Spark wrote by the Julian calendar |
| `parquet_values` | what the values of a Parquet file mean |
| `parquet` | columns by name; an optional column `__op` |
| `avro/` | records by name; an optional field `__op` |
"""
