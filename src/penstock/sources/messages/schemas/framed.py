"""Confluent's frame of a message: a zero byte, the number of the schema in four bytes, and the value."""

from __future__ import annotations

from penstock.catalog.model import Table
from penstock.sources.formats.rows import refuse_record

_FRAME = 5


def unframed(table: Table, data: bytes, place: str) -> tuple[int, bytes]:
    """The number of a message's schema, and its value; DataError if it has no such frame."""
    if len(data) < _FRAME:
        refuse_record(
            table, place, f"it has {len(data)} bytes, and no room for the number of a schema before its value"
        )
    if data[0] != 0:
        refuse_record(table, place, f"it begins with the byte {data[0]}, and not with 0 and the number of its schema")
    return int.from_bytes(data[1:_FRAME], "big"), data[_FRAME:]
