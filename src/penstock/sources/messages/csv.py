"""One record of fields: the columns in the table's order, without those that the key or METADATA fills."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from penstock.catalog.model import Table
from penstock.sources.formats.csv import Shape
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
        self._names = [column.name for column in table.required]

    def at_once(self, values: Sequence[bytes]) -> pa.Table | None:  # noqa: ARG002
        """None: a value may hold several lines, and each is read by itself."""
        return None

    def rows(self, value: bytes, place: str) -> Sequence[Operated]:
        """The row of one record."""
        text = utf8(self._table, value, place)
        try:
            found = [fields for fields in csv.reader(io.StringIO(text, newline=""), **self._shape.options) if fields]
        except csv.Error as error:
            refuse_record(self._table, place, f"not CSV: {error}")
        if len(found) != 1:
            refuse_record(self._table, place, f"found {len(found)} records, expected one")
        (fields,) = found
        if len(fields) != len(self._names):
            refuse_record(self._table, place, f"found {len(fields)} fields, expected {len(self._names)}")
        null = self._shape.null_text
        row = {name: None if item == null else item for name, item in zip(self._names, fields, strict=True)}
        return (Operated(INSERT, row),)

    def emptied(self, key: Mapping[str, Any] | None, place: str) -> Sequence[Operated]:
        """The deletion of what has its key."""
        return deleted_by(self._table, key, place)
