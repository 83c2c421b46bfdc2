"""Avro: schemas, values, and the container files that hold both. Its library comes with the extra `formats`.

| module | what it holds |
| --- | --- |
| `schema` | a schema as a reader of values: bytes to Python values of the columns' kinds |
| `logical` | what the logical types make of the values below them |
| `kinds` | the types of columns that fields become in a table that lacks them |
| `container` | blocks of an object container file: their frame, their compression |
| `files` | the format avro of files: blocks cut from a stream, and made rows |
"""
