"""A step's change as a piece of a file: JSON lines, CSV lines, or rows of Parquet.

append      the rows
retract     {"insert": row} and {"delete": row}; in CSV and Parquet a column `__op` before the others, + or -
upsert      the same, net for each key; the row of a deletion is the one that was there
changelog   the columns and `__op`: +I, -U, +U, -D

The second and third are what a table with the connector files reads.
"""

from __future__ import annotations

import io
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from penstock.backends.rows import python_values
from penstock.catalog.reserved import OPERATION, WEIGHT
from penstock.outputs.files.csv_text import ESCAPE, CsvWriter
from penstock.outputs.forms import Form, Row, formed_places
from penstock.outputs.lines import json_line
from penstock.outputs.zoned import Zoned, as_it_is
from penstock.steps.change import Change

_SIGNS = {"insert": "+", "upsert": "+", "delete": "-"}


@dataclass(frozen=True)
class Rendering(ABC):
    """The way into one format; `suffix` is that of a finished file and of a piece of one."""

    form: Form
    key: tuple[int, ...] | None
    zoned: Zoned = as_it_is
    suffix = ""

    @abstractmethod
    def piece(self, change: Change) -> bytes:
        """The part of a file that a step adds."""

    @abstractmethod
    def whole(self, pieces: Iterable[Path]) -> bytes:
        """The finished file of pieces."""

    def _done(self, rows: Sequence[tuple[int, Row]]) -> list[tuple[str, int]]:
        """The words of the form for what is done, with the place of each row."""
        found = formed_places(rows, self.form, self.key)
        return [(done if self.form is Form.CHANGELOG else _SIGNS[done], place) for done, place in found]


class JsonLines(Rendering):
    """An object for each row."""

    suffix = ".json"

    def piece(self, change: Change) -> bytes:
        """Lines."""
        found = (self._line(change, done, change.rows[place][1]) for done, place in self._done(change.rows))
        return "".join(f"{json_line(line)}\n" for line in found).encode()

    def _line(self, change: Change, done: str, row: Row) -> dict[str, Any]:
        named = dict(zip(change.columns, self.zoned(row), strict=True))
        if self.form is Form.APPEND:
            return named
        if self.form is Form.CHANGELOG:
            return {OPERATION: done, **named}
        return {"insert" if done == "+" else "delete": named}

    def whole(self, pieces: Iterable[Path]) -> bytes:
        """One after the other."""
        return b"".join(path.read_bytes() for path in pieces)


@dataclass(frozen=True)
class CsvLines(Rendering):
    """A line for each row, behind a header; each piece has one."""

    suffix = ".csv"
    writer: CsvWriter = field(default_factory=CsvWriter)

    def piece(self, change: Change) -> bytes:
        """The header and lines."""
        marked = self.form is not Form.APPEND
        lines = [self.writer.record([*([OPERATION] if marked else []), *change.columns])]
        for done, place in self._done(change.rows):
            lines.append(self.writer.record([*([done] if marked else []), *self.zoned(change.rows[place][1])]))
        return "".join(lines).encode()

    def whole(self, pieces: Iterable[Path]) -> bytes:
        """The header of the first, and the lines of all; a header is one line unless a name holds a line end."""
        first, *others = [path.read_bytes() for path in pieces]
        header = self.writer.cutting.end(first, 1)
        return first + b"".join(text[header:] for text in others)


class ParquetRows(Rendering):
    """Rows in the types of the change."""

    suffix = ".parquet"

    def piece(self, change: Change) -> bytes:
        """A Parquet file of the step."""
        table = change.arrow()
        done = self._done([(row[-1], row[:-1]) for row in python_values(table)])
        rows = table.drop_columns([WEIGHT]).take(pa.array([place for _, place in done], pa.int64()))
        if self.form is not Form.APPEND:
            rows = rows.add_column(0, OPERATION, pa.array([sign for sign, _ in done], pa.string()))
        return _parquet(rows)

    def whole(self, pieces: Iterable[Path]) -> bytes:
        """The rows of all."""
        return _parquet(pa.concat_tables([pq.read_table(path) for path in pieces], promote_options="permissive"))


def _parquet(rows: pa.Table) -> bytes:
    buffer = io.BytesIO()
    pq.write_table(rows, buffer)
    return buffer.getvalue()


_STYLES: dict[str, type[Rendering]] = {"json": JsonLines, "parquet": ParquetRows}


def rendering_of(
    style: str, form: Form, key: tuple[int, ...] | None, escape: str = ESCAPE, zoned: Zoned = as_it_is
) -> Rendering:
    """The way into a format; `escape` is that of CSV."""
    if style == "csv":
        return CsvLines(form, key, zoned, writer=CsvWriter(escape))
    return _STYLES[style](form, key, zoned)
