"""Debezium's envelope of a change: `{"before": row, "after": row, "op": "c" | "r" | "u" | "d", "source": …}`.

It is JSON, or read by a schema. It may stand within `{"schema": …, "payload": …}`. A message without a value, as one
follows a deletion, says nothing.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pyarrow as pa

from penstock.catalog.model import Table
from penstock.sources.formats.json import exact_number
from penstock.sources.formats.rows import refuse_record, utf8
from penstock.steps.rows.batch import DELETE, INSERT, Operated

Row = Mapping[str, Any]
Decode = Callable[[bytes, str], Any]
_FULL = "REPLICA IDENTITY FULL (PostgreSQL) or a full binlog_row_image (MySQL) has it; or give the table a PRIMARY KEY"


class DebeziumMessages:
    """The format debezium."""

    in_bulk = False

    def __init__(self, table: Table, name: str = "debezium", decode: Decode | None = None) -> None:
        self._table = table
        self.name = name
        self._decode = decode or self._json
        self._key = {name.lower() for name in table.key}

    def at_once(self, values: Sequence[bytes]) -> pa.Table | None:  # noqa: ARG002
        """None: a change may be two operations."""
        return None

    def rows(self, value: bytes, place: str) -> Sequence[Operated]:
        """The operations of one change."""
        envelope = self._envelope(value, place)
        operation, before, after = (envelope.get(name) for name in ("op", "before", "after"))
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

    def _envelope(self, value: bytes, place: str) -> Row:
        found = self._decode(value, place)
        inner = found.get("payload") if isinstance(found, Mapping) and "op" not in found else found
        if not isinstance(inner, Mapping):
            refuse_record(self._table, place, "expected Debezium's envelope: an object with op, before and after")
        return inner

    def _json(self, value: bytes, place: str) -> Any:
        text = utf8(self._table, value, place)
        try:
            return json.loads(text, parse_float=exact_number)
        except (ValueError, RecursionError, ArithmeticError) as error:
            refuse_record(self._table, place, f"not JSON: {error}")

    def _row(self, row: Any, part: str, place: str) -> Row:
        if not isinstance(row, Mapping):
            refuse_record(self._table, place, f"it has no {part!r}")
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
