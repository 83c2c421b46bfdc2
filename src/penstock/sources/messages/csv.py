"""One record of fields: the columns in the table's order, without those that the key or METADATA fills."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from penstock.catalog.model import Table
from penstock.sources.formats.csv import Shape
from penstock.sources.formats.cutting import BadRecordError
from penstock.sources.formats.rows import refuse_record, utf8
from penstock.sources.messages.keys import deleted_by
from penstock.steps.rows.batch import INSERT, Operated


class CsvMessages:
    """The format csv."""

    name = "csv"
    in_bulk = False

    def __init__(self, table: Table, shape: Shape) -> None:
        self._table = table
        self._shape = shape
        self._nulls = {column.name: shape.nulls(column.type) for column in table.required}

    def at_once(self, values: Sequence[bytes]) -> pa.Table | None:  # noqa: ARG002
        """None: a value may hold several lines, and each is read by itself."""
        return None

    def rows(self, value: bytes, place: str) -> Sequence[Operated]:
        """The row of one record."""
        cutting = self._shape.cutting
        records = [record for record in cutting.records(value) if record.strip(b"\r\n")]
        if len(records) != 1:
            refuse_record(self._table, place, f"found {len(records)} records, expected one")
        try:
            fields = cutting.fields(utf8(self._table, records[0], place))
        except BadRecordError as error:
            refuse_record(self._table, place, str(error))
        if len(fields) != len(self._nulls):
            refuse_record(self._table, place, f"found {len(fields)} fields, expected {len(self._nulls)}")
        row = {
            name: None if field in nulls else field
            for (name, nulls), field in zip(self._nulls.items(), fields, strict=True)
        }
        return (Operated(INSERT, row),)

    def emptied(self, key: Mapping[str, Any] | None, place: str) -> Sequence[Operated]:
        """The deletion of what has its key."""
        return deleted_by(self._table, key, place)
