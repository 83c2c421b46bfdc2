"""The envelopes of Canal, Maxwell and OGG: what is done with a row, or with several, of a table elsewhere.

    canal-json      {"type": "INSERT" | "UPDATE" | "DELETE", "data": [row, …], "old": [what was else, …]}
    maxwell-json    {"type": "insert" | "update" | "delete" | "bootstrap-insert", "data": row, "old": what was else}
    ogg-json        {"op_type": "I" | "U" | "D", "before": row, "after": row}

An update replaces the row before it. What says nothing of rows (a statement that changes the table, the start of a
bootstrap) has no operation; neither has a message without a value.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from penstock.catalog.model import Table
from penstock.sources.formats.json import parsed_json
from penstock.sources.formats.rows import refuse_record, refuse_without_column
from penstock.steps.rows.batch import DELETE, INSERT, Operated

Row = Mapping[str, Any]

_KINDS = {
    "canal-json": {"insert": "i", "update": "u", "delete": "d"},
    "maxwell-json": {"insert": "i", "bootstrap-insert": "i", "update": "u", "delete": "d"},
    "ogg-json": {"i": "i", "u": "u", "d": "d"},
}
# Messages that say nothing of rows.
_OTHERS = {
    "canal-json": ("create", "alter", "erase", "query", "truncate", "rename", "cindex", "dindex"),
    "maxwell-json": ("bootstrap-start", "bootstrap-complete"),
    "ogg-json": (),
}


class ChangeMessages:
    """One of these formats, by its name."""

    in_bulk = False

    def __init__(self, table: Table, name: str, *, adds: bool = False) -> None:
        self._table = table
        self.name = name
        self._adds = adds
        self._key = {name.lower() for name in table.key}

    def at_once(self, values: Sequence[bytes]) -> pa.Table | None:  # noqa: ARG002
        """None: a change may be several operations."""
        return None

    def emptied(self, key: Mapping[str, Any] | None, place: str) -> Sequence[Operated]:  # noqa: ARG002
        """Nothing: it follows a deletion."""
        return ()

    def rows(self, value: bytes, place: str) -> Sequence[Operated]:
        """The operations of one message."""
        message = parsed_json(self._table, value, place)
        if not isinstance(message, Mapping):
            refuse_record(self._table, place, "expected a JSON object")
        word = "op_type" if self.name == "ogg-json" else "type"
        done = str(message.get(word)).lower()
        if message.get("isDdl") is True or done in _OTHERS[self.name]:
            return ()
        kind = _KINDS[self.name].get(done)
        if kind is None:
            known = ", ".join(_KINDS[self.name])
            refuse_record(self._table, place, f"found the {word} {done[:20]!r}, expected one of {known}")
        pairs = self._pairs(message, kind, place)
        return [item for before, after in pairs for item in self._operations(kind, before, after, place)]

    def _pairs(self, message: Row, kind: str, place: str) -> list[tuple[Any, Any]]:
        """The rows before and after, as far as the message has them; of a deletion the row that goes stands before."""
        if self.name == "ogg-json":
            return [(message.get("before"), message.get("after"))]
        data, old = message.get("data"), message.get("old")
        if self.name == "maxwell-json":
            data, old = [data], [old]
        if not isinstance(data, list):
            refuse_record(self._table, place, "it has no 'data'")
        olds = old if isinstance(old, list) and len(old) == len(data) else [None] * len(data)
        return [(row if kind == "d" else _as_it_was(row, was), row) for row, was in zip(data, olds, strict=True)]

    def _operations(self, kind: str, before: Any, after: Any, place: str) -> Sequence[Operated]:
        match kind:
            case "i":
                return (Operated(INSERT, self._row(after, place)),)
            case "d":
                return (Operated(DELETE, self._row(before, place)),)
            case _:
                return self._updated(before, self._row(after, place), place)

    def _updated(self, before: Any, after: Row, place: str) -> Sequence[Operated]:
        if self._key and (not isinstance(before, Mapping) or self._key_of(before) == self._key_of(after)):
            return (Operated(INSERT, after),)
        return Operated(DELETE, self._row(before, place)), Operated(INSERT, after)

    def _row(self, row: Any, place: str) -> Row:
        if not isinstance(row, Mapping):
            refuse_record(self._table, place, "the row of the change is missing")
        refuse_without_column(self._table, row, place, adds=self._adds)
        return row

    def _key_of(self, row: Row) -> dict[str, Any]:
        return {name.lower(): value for name, value in row.items() if name.lower() in self._key}


def _as_it_was(row: Any, old: Any) -> Any:
    """A row with the values that it had before its change; None if these are not said."""
    return {**row, **old} if isinstance(row, Mapping) and isinstance(old, Mapping) else None
