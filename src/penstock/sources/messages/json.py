"""A JSON object: a row, or `{"insert" | "delete" | "update": row}`, as on the lines of files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from penstock.catalog.model import Table
from penstock.sources.formats.api import Piece
from penstock.sources.formats.json import JsonLines
from penstock.sources.formats.rows import refuse_record
from penstock.sources.messages.keys import Tell, deleted_by
from penstock.sources.position import Position
from penstock.steps.rows.batch import Operated, RowReader
from penstock.steps.rows.values import Leniency


class JsonMessages:
    """The format json."""

    name = "json"
    in_bulk = True

    def __init__(self, table: Table, reader: RowReader, *, lenient: Leniency, tell: Tell | None = None) -> None:
        self._table = table
        self._lines = JsonLines(
            table,
            reader,
            ignore_unknown=lenient.ignore_unknown,
            adds=bool(lenient.new),
            complete=lenient.complete,
            tell=tell,
        )

    def at_once(self, values: Sequence[bytes]) -> pa.Table | None:
        """All rows, as lines of one text; None if one of them is not one line."""
        text = b"\n".join(values) + b"\n"
        if text.count(b"\n") != len(values) or b"\r" in text:
            return None
        return self._lines.parsed(Piece("", text, Position(), Position(len(text), len(values))))

    def rows(self, value: bytes, place: str) -> Sequence[Operated]:
        """Its operation."""
        if not value.strip():
            refuse_record(self._table, place, "it is empty")
        return (self._lines.row(value, place),)

    def emptied(self, key: Mapping[str, Any] | None, place: str) -> Sequence[Operated]:
        """The deletion of what has its key."""
        return deleted_by(self._table, key, place)
