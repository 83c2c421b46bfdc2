"""Formats of whole messages, as brokers and pushes bring them: nothing has to be cut, each says its row, or several.

| module | what it holds |
| --- | --- |
| `api` | what a message is, and what a format does with it: the seam for further formats |
| `declared` | what a table may say of the format of its messages, and the formats by name |
| `choice` | the format of a table's messages, and of their keys |
| `json` | a JSON object: a row, or an operation with its row |
| `csv` | one record of fields |
| `raw` | the bytes themselves, or their text, as the one column |
| `debezium` | Debezium's envelope of a change: before, after, op |
| `changes` | the envelopes of Canal, Maxwell and OGG |
| `schemas/` | Avro and Protobuf, with a schema registry or without |
| `keys` | the columns that a message's key holds, and messages without a value |
| `metadata` | columns filled by what is known beside the value |
| `rows` | batches of rows from messages: at once, or each by itself where one is no plain row |
"""
