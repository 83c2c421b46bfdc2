"""Debezium's envelope of a change: `{"before": row, "after": row, "op": "c" | "r" | "u" | "d", "source": …}`.

It is JSON, or read by a schema. It may stand within `{"schema": …, "payload": …}`, whose schema says what its values
mean. A message without a value, as one
follows a deletion, says nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pyarrow as pa

from penstock.catalog.model import Table
from penstock.sources.formats.connect import Connect, date_of
from penstock.sources.formats.json import parsed_json
from penstock.sources.formats.rows import refuse_record, refuse_without_column
from penstock.sources.messages.keys import Tell
from penstock.steps.rows.batch import DELETE, INSERT, Operated

Row = Mapping[str, Any]
Decode = Callable[[bytes, str], Any]
_FULL = "REPLICA IDENTITY FULL (PostgreSQL) or a full binlog_row_image (MySQL) has it; or give the table a PRIMARY KEY"


class DebeziumMessages:
    """The format debezium."""

    in_bulk = False

    def __init__(
        self, table: Table, name: str = "debezium", decode: Decode | None = None, *, tell: Tell | None = None
    ) -> None:
        self._table = table
        self.name = name
        self._decode = decode or self._json
        self._tell = tell if decode is None else None
        self._adds = tell is not None
        self._connect = Connect(table)
        self._dates = {column.name.lower() for column in table.columns if column.type.lower() == "date"}
        self._key = {name.lower() for name in table.key}

    def at_once(self, values: Sequence[bytes]) -> pa.Table | None:  # noqa: ARG002
        """None: a change may be two operations."""
        return None

    def rows(self, value: bytes, place: str) -> Sequence[Operated]:
        """The operations of one change."""
        envelope, schema = self._envelope(value, place)
        operation = envelope.get("op")
        before, after = (self._meant(schema, envelope.get(name), name) for name in ("before", "after"))
        if operation in ("c", "r"):
            return (Operated(INSERT, self._row(after, "after", place)),)
        if operation == "u":
            return self._updated(before, self._row(after, "after", place), place)
        if operation != "d":
            refuse_record(self._table, place, f"found the op {str(operation)[:20]!r}, expected c, r, u or d")
        return (self._deleted(before, place),)

    def emptied(self, key: Mapping[str, Any] | None, place: str) -> Sequence[Operated]:  # noqa: ARG002
        """Nothing: the change before it has deleted the row."""
        return ()

    def _envelope(self, value: bytes, place: str) -> tuple[Row, Any]:
        """The envelope of a change, and the schema that stands beside it."""
        found = self._decode(value, place)
        outer = isinstance(found, Mapping) and "op" not in found
        inner, schema = (found.get("payload"), found.get("schema")) if outer else (found, None)
        if not isinstance(inner, Mapping):
            refuse_record(self._table, place, "expected Debezium's envelope: an object with op, before and after")
        if isinstance(schema, Mapping) and self._tell is not None:
            self._tell(self._connect.new_columns(schema, within="after"))
        return inner, schema if isinstance(schema, Mapping) else None

    def _meant(self, schema: Any, row: Any, part: str) -> Any:
        """A row as its schema means it; without one a number is a date as Debezium writes it."""
        if not isinstance(row, Mapping):
            return row
        if schema is not None:
            return self._connect.meant(schema, row, within=part)
        dates = [name for name, value in row.items() if type(value) is int and name.lower() in self._dates]
        return {**row, **{name: date_of(row[name]) for name in dates}} if dates else row

    def _json(self, value: bytes, place: str) -> Any:
        return parsed_json(self._table, value, place)

    def _row(self, row: Any, part: str, place: str) -> Row:
        if not isinstance(row, Mapping):
            refuse_record(self._table, place, f"it has no {part!r}")
        refuse_without_column(self._table, row, place, adds=self._adds)
        return row

    def _updated(self, before: Any, after: Row, place: str) -> Sequence[Operated]:
        if self._key and (not isinstance(before, Mapping) or self._key_of(before) == self._key_of(after)):
            return (Operated(INSERT, after),)
        return self._deleted(before, place), Operated(INSERT, after)

    def _deleted(self, before: Any, place: str) -> Operated:
        if not isinstance(before, Mapping):
            refuse_record(self._table, place, f"it has no 'before', the row that goes; {_FULL}")
        return Operated(DELETE, before)

    def _key_of(self, row: Row) -> dict[str, Any]:
        return {name.lower(): value for name, value in row.items() if name.lower() in self._key}
