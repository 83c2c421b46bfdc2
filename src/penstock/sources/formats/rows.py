"""Rows as text: the envelope of an operation, records that are rejected, UTF-8."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, NoReturn, TypeVar

from penstock.catalog.model import Table
from penstock.errors import DataError, Diagnostic
from penstock.sources.formats.api import Broken, Piece
from penstock.steps.rows.batch import Batch, RowReader, reject_row
from penstock.steps.rows.rejected import Rejections


def refuse_record(table: Table, place: str, what: str) -> NoReturn:
    """Raise the DataError of a record that cannot be read."""
    raise DataError(Diagnostic("BROKEN_ROW", f"table {table.name}, {place}: {what}"))


def refuse_without_column(table: Table, row: Mapping[str, Any], place: str, *, adds: bool = False) -> None:
    """Refuse a row by name that has no column of the table: it is of something else, and no row of NULLs."""
    columns = {column.name.lower() for column in table.shown if column.metadata is None}
    if not columns or (row and adds) or any(str(name).lower() in columns for name in row):
        return
    names = ", ".join(map(str, row))[:200] or "it has none"
    refuse_record(table, place, f"none of its names is a column of the table: {names}")


def readable(record: bytes) -> str:
    """A record as text to show."""
    return record.decode("utf-8", "backslashreplace")


def utf8(table: Table, record: bytes, place: str) -> str:
    """The text of a record; DataError if it is none."""
    try:
        return record.decode("utf-8")
    except UnicodeDecodeError as error:
        refuse_record(table, place, f"not UTF-8 at byte {error.start}")


Record = TypeVar("Record")


@dataclass
class Records(Generic[Record]):
    """Collects the rows of a piece with their lines; a record that cannot be one is rejected alone.

    `make` gives the row of a record and its place, `shown` the record where it is rejected.
    """

    table: Table
    piece: Piece
    rejections: Rejections
    make: Callable[[Record, str], Any]
    shown: Callable[[Record], Any]
    _items: list[Any] = field(default_factory=list)
    _lines: list[int] = field(default_factory=list)

    def add(self, line: int, record: Record) -> None:
        """One more record."""
        place = self.piece.place(line)
        try:
            self._items.append(self.make(record, place))
        except DataError as error:
            if not self.rejections.tolerant:
                raise
            reject_row(self.rejections, self.table, place, error, self.shown(record))
        else:
            self._lines.append(line)

    def batch(self, reader: RowReader) -> Batch:
        """The rows, checked."""
        piece, lines = self.piece, self._lines
        return reader.read(self._items, self.rejections, lambda index: piece.place(lines[index]))


def broken_batch(table: Table, piece: Piece, reader: RowReader, rejections: Rejections) -> Batch:
    """No row, and the rejection of what cannot be one; of a piece that is only skipped not even that."""

    def refuse(broken: Broken, place: str) -> NoReturn:
        refuse_record(table, place, broken.what)

    records = Records(table, piece, rejections, refuse, lambda broken: broken.shown)
    if isinstance(piece.data, Broken):
        records.add(0, piece.data)
    return records.batch(reader)
