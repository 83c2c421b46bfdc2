"""Folders named by columns, as Hive and Spark lay them out: `d=2024-01-01/h=7/part-0.parquet`.

A value is what Spark reads there: `%3A` is a colon, `__HIVE_DEFAULT_PARTITION__` is NULL, and the text is one of the
column's declared type. What the file itself says under that name counts for nothing.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import pyarrow as pa

from penstock.catalog.model import Column, Table
from penstock.catalog.types import is_temporal
from penstock.errors import DataError
from penstock.sources.formats.api import Format, Piece
from penstock.sources.position import Position
from penstock.sources.transport import BrokenStreamError, Stream
from penstock.steps.rows.batch import Batch, RowReader
from penstock.steps.rows.rejected import Rejections

_NULL = "__HIVE_DEFAULT_PARTITION__"
_ESCAPED = re.compile("%([0-9a-fA-F]{2})")
_DATE = re.compile(r"(\d{4})-(\d{1,2})-(\d{1,2})(?!\d)")


@dataclass
class Partitioned:
    """A format whose rows lack some columns of the table, which the folders of their file name.

    `files` reads the columns that the files have, `reader` those of the folders.
    """

    table: Table
    files: Format
    reader: RowReader
    name: str = "partitioned"
    _found: dict[str, pa.Table] = field(default_factory=dict)

    def piece(
        self, stream: Stream, at: Position, rows: int, *, complete: bool, until: int | None = None
    ) -> Piece | None:
        """About `rows` records; BrokenStreamError for a file whose folders do not name what they should."""
        try:
            self._values(stream.name)
        except BrokenStreamError:
            if complete:
                raise
            return None
        return self.files.piece(stream, at, rows, complete=complete, until=until)

    def batch(self, piece: Piece, rejections: Rejections) -> Batch:
        """The rows of a piece, with the columns of its folders."""
        batch = self.files.batch(piece, rejections)
        values = self._values(piece.name)
        first = pa.repeat(pa.scalar(0, pa.int64()), len(batch))
        columns = {name: values.column(name).take(first) for name in values.column_names}
        columns |= {name: batch.rows.column(name) for name in batch.rows.column_names}
        rows = pa.table({column.name: columns[column.name] for column in self.table.columns})
        return replace(batch, table=self.table, rows=rows)

    def _values(self, path: str) -> pa.Table:
        """The one row of a file's folders."""
        folder = str(Path(path).parent)
        if folder not in self._found:
            self._found[folder] = self._read(named_values(folder))
        return self._found[folder]

    def _read(self, named: dict[str, str | None]) -> pa.Table:
        columns = self.reader.table.columns
        row = {column.name: _text(column, named) for column in columns}
        try:
            return self.reader.read([row], Rejections(), lambda _: "its folder").rows
        except DataError as error:
            raise BrokenStreamError(error.diagnostics[0].message) from error


def named_values(folder: str) -> dict[str, str | None]:
    """The values that the parts of a path give, by lower-case name: the innermost counts."""
    found: dict[str, str | None] = {}
    for part in Path(folder).parts:
        name, equals, value = part.partition("=")
        if equals:
            found[_unescaped(name).lower()] = None if value == _NULL else _unescaped(value)
    return found


def _unescaped(text: str) -> str:
    """The text that Spark writes as such a part: each `%` and two digits are one character."""
    return _ESCAPED.sub(lambda found: chr(int(found[1], 16)), text)


def _text(column: Column, named: dict[str, str | None]) -> str | None:
    """The text of a column; a date may have months and days of one digit, as in Spark."""
    if column.name.lower() not in named:
        message = f"none of its folders is named {column.name}=…"
        raise BrokenStreamError(message)
    text = named[column.name.lower()]
    if text is None or not is_temporal(column.type):
        return text
    return _DATE.sub(lambda date: f"{date[1]}-{date[2]:0>2}-{date[3]:0>2}", text, count=1)


def divided(table: Table, names: Sequence[str]) -> tuple[Table, Table]:
    """The table with the columns of its files alone, and with those of its folders alone."""
    lower = {name.lower() for name in names}
    return _only(table, lower, inside=False), _only(table, lower, inside=True)


def _only(table: Table, names: set[str], *, inside: bool) -> Table:
    columns = tuple(column for column in table.columns if (column.name.lower() in names) == inside)
    key = tuple(name for name in table.key if (name.lower() in names) == inside)
    return replace(table, columns=columns, key=() if inside else key)
