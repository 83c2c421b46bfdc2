"""Messages that are read by a schema: Avro and Protobuf, the schema given once or found in a registry by its number.

| module | what it holds |
| --- | --- |
| `declared` | what a table may say of its schemas |
| `registry` | a schema registry: over HTTP, or the same as a folder of files |
| `framed` | Confluent's frame of a message: a zero byte, the schema's number, the value |
| `avro` | values of Avro |
| `protobuf` | messages of Protobuf as rows |
| `decoding` | the format of a table's values or keys, as its properties say |
| `rows` | one row from each value |
"""
