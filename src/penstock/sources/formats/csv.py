"""Records of fields with a delimiter, under a header or not; an optional column `__op` ('+', '-', '~').

A piece whose records are one line each is read at once by Arrow, any other by Python's reader; both read RFC 4180, of
which `cutting` makes what has been written with an escape. An empty field is NULL, and so is another text if the table
says one by `'null_text'`. Two quotes are the empty text, in a column of texts.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as arrow_csv

from penstock.catalog.model import Table
from penstock.catalog.reserved import OPERATION
from penstock.sources.formats.api import Piece
from penstock.sources.formats.cutting import BadRecordError, Cutting
from penstock.sources.formats.records import BOM, line_count, next_piece
from penstock.sources.formats.rows import Records, broken_batch, readable, refuse_record, utf8
from penstock.sources.position import Position
from penstock.sources.transport import BrokenStreamError, Stream
from penstock.steps.rows.batch import INSERT, OPERATIONS, Batch, Operated, RowReader
from penstock.steps.rows.new_columns import wrong_names
from penstock.steps.rows.rejected import Rejections

_BLOCK = 1 << 20
_NULL = pa.nulls(1, pa.string())[0]  # of a value of Python Arrow makes one by asking pandas


@dataclass(frozen=True)
class Shape:
    """The way in which a table's CSV is written."""

    delimiter: str = ","
    quote: str = '"'
    escape: str = "\\"
    null_text: str = ""
    header: bool = True

    @property
    def options(self) -> dict[str, Any]:
        """The same for Python's reader."""
        if not self.quote:
            return {"delimiter": self.delimiter, "quoting": csv.QUOTE_NONE, "quotechar": None}
        return {"delimiter": self.delimiter, "quotechar": self.quote}

    @cached_property
    def cutting(self) -> Cutting:
        """The records and fields of such texts."""
        return Cutting(self.delimiter, self.quote, self.escape)

    def nulls(self, kind: str) -> tuple[str, ...]:
        """The fields that are NULL in a column of a type, beside the empty one: `""` is a text only among texts."""
        return (*(() if _is_text(kind) else ("",)), *((self.null_text,) if self.null_text else ()))


class Csv:
    """The format csv."""

    name = "csv"

    def __init__(
        self, table: Table, reader: RowReader, shape: Shape, *, ignore_unknown: bool, adds: bool = False
    ) -> None:
        self._table = table
        self._reader = reader
        self._shape = shape
        self._cutting = shape.cutting
        self._ignore_unknown = ignore_unknown
        self._adds = adds
        self._columns = {column.name.lower() for column in table.shown} | {OPERATION}
        self._nulls = {column.name.lower(): shape.nulls(column.type) for column in table.columns}
        self._other_nulls = shape.nulls("string")  # of columns that the table is to get

    def piece(
        self, stream: Stream, at: Position, rows: int, *, complete: bool, until: int | None = None
    ) -> Piece | None:
        """About `rows` records from a position on; the header is a piece without rows."""
        if at.header is not None or at.tail:
            return next_piece(stream, at, rows, self._cutting.end, complete=complete, until=until)
        if not self._shape.header:
            at = replace(at, header=tuple(column.name for column in self._table.required))
            return next_piece(stream, at, rows, self._cutting.end, complete=complete, until=until)
        piece = next_piece(stream, at, 1, self._cutting.end, complete=complete, until=until)
        if piece is None or not isinstance(piece.data, bytes):
            return piece
        return replace(piece, data=b"", after=replace(piece.after, header=self._header(piece.data)))

    def _header(self, record: bytes) -> tuple[str, ...] | None:
        """The names in the first record that is not empty; BrokenStreamError if they are not the table's."""
        try:
            fields = self._cutting.fields(record.decode("utf-8"))
        except (UnicodeDecodeError, BadRecordError) as error:
            message = f"its header cannot be read: {error}"
            raise BrokenStreamError(message) from error
        names = tuple((name or "").strip() for name in fields)
        return self._checked(names) if names else None

    def _checked(self, names: tuple[str, ...]) -> tuple[str, ...]:
        lower = [name.lower() for name in names]
        known = [name for name in lower if name in self._columns]
        if len(set(known)) < len(known):
            message = f"its header has {next(name for name in known if known.count(name) > 1)} twice"
            raise BrokenStreamError(message)
        unknown = [name for name in names if name.lower() not in self._columns]
        if unknown and not self._ignore_unknown:
            message = f"its header has a column {unknown[0][:100]!r}, which the table lacks"
            raise BrokenStreamError(message)
        if self._adds and (wrong := wrong_names(unknown, len(self._table.columns))):
            message = f"its header: {wrong}"
            raise BrokenStreamError(message)
        if not known:
            message = (
                f"its first line names no column of the table: {','.join(names)[:100]!r}; "
                "'header' = 'false' reads files without a header, 'delimiter' says what stands between the fields"
            )
            raise BrokenStreamError(message)
        return names

    def batch(self, piece: Piece, rejections: Rejections) -> Batch:
        """The rows of its records."""
        if not isinstance(piece.data, bytes) or not piece.data:
            return broken_batch(self._table, piece, self._reader, rejections)
        names = [self._known(name) for name in piece.after.header or ()]
        plain = None if piece.after.tail == "half" else self._cutting.by_rfc4180(piece.data)
        table = None if plain is None else self._at_once(plain, piece, names)
        if table is not None:
            return self._reader.read_arrow(table, rejections, piece.place)
        numbered = None if plain is None else self._numbered(plain)
        if numbered is None:
            return self._one_by_one(piece, names, rejections)
        records = Records(self._table, piece, rejections, partial(self._row, names), list)
        for line, fields in numbered:
            records.add(line, fields)
        return records.batch(self._reader)

    def _at_once(self, text: bytes, piece: Piece, names: Sequence[str | None]) -> pa.Table | None:
        """The texts of all records, as Arrow reads them; None where a record is not one line, or is not plain."""
        if text.startswith(BOM):  # Arrow drops one wherever it begins to read
            return None
        known = [name for name in names if name is not None]
        titles = [name or f"\0{at}" for at, name in enumerate(names)]
        read = _reading(titles, len(text))
        parse = arrow_csv.ParseOptions(
            delimiter=self._shape.delimiter, quote_char=self._shape.quote or False, newlines_in_values=True
        )
        convert = arrow_csv.ConvertOptions(
            include_columns=known,
            column_types=dict.fromkeys(known, pa.string()),
            null_values=[""],
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
        )
        try:
            table = arrow_csv.read_csv(io.BytesIO(text), read, parse, convert)
        except pa.ArrowException:
            return None
        return self._plain(table) if table.num_rows == piece.after.lines - piece.at.lines else None

    def _plain(self, table: pa.Table) -> pa.Table | None:
        """The texts with NULL in the place of those that mean it; None if there is an operation that is none."""
        for at, name in enumerate(table.column_names):
            column = table.column(at)
            if name == OPERATION:
                marks = pc.if_else(pc.equal(pc.fill_null(column, ""), ""), INSERT, column)
                if not pc.all(pc.is_in(marks, pa.array(OPERATIONS))).as_py():
                    return None
                table = table.set_column(at, name, marks)
                continue
            for text in pa.array(self._nulls_of(name), pa.string()):
                column = pc.if_else(pc.equal(column, text), _NULL, column)
            table = table.set_column(at, name, column)
        return table

    def _nulls_of(self, name: str) -> tuple[str, ...]:
        return self._nulls.get(name.lower(), self._other_nulls)

    def _known(self, name: str) -> str | None:
        """The name of a field, None if the table has no such column and is not to have one."""
        lower = name.lower()
        return OPERATION if lower == OPERATION else name if self._adds or lower in self._columns else None

    def _one_by_one(self, piece: Piece, names: Sequence[str | None], rejections: Rejections) -> Batch:
        """Each record by itself, as one is not text, not closed, or too long for the reader's own limit."""
        records = Records(self._table, piece, rejections, partial(self._record, names), readable)
        line = 0
        for record in self._cutting.records(piece.data):
            if record.strip(b"\r\n"):
                records.add(line, record)
            line += line_count(record)
        return records.batch(self._reader)

    def _record(self, names: Sequence[str | None], record: bytes, place: str) -> Operated:
        if not self._cutting.is_closed(record):
            refuse_record(self._table, place, "a quote is opened and never closed")
        text = utf8(self._table, record, place)
        try:
            fields = self._cutting.fields(text)
        except BadRecordError as error:
            refuse_record(self._table, place, str(error))
        return self._row(names, fields, place)

    def _numbered(self, data: bytes) -> list[tuple[int, list[str | None]]] | None:
        """The fields of each record that is not empty, with the line on which it begins; None if one is no such."""
        if self._cutting.has_empty_texts(data):
            return None
        records: list[tuple[int, list[str | None]]] = []
        line = 0
        try:
            reader = csv.reader(io.StringIO(data.decode("utf-8"), newline=""), **self._shape.options)
            for fields in reader:
                if fields:
                    records.append((line, [field or None for field in fields]))
                line = reader.line_num
        except (UnicodeDecodeError, csv.Error):
            return None
        return records

    def _row(self, names: Sequence[str | None], fields: Sequence[str | None], place: str) -> Operated:
        if len(fields) != len(names):
            refuse_record(self._table, place, f"found {len(fields)} fields, expected {len(names)}")
        row: dict[str, Any] = {
            name: None if value is None or value in self._nulls_of(name) else value
            for name, value in zip(names, fields, strict=True)
            if name is not None
        }
        operation = row.pop(OPERATION, INSERT) or INSERT
        if operation not in OPERATIONS:
            refuse_record(self._table, place, f"found {operation[:20]!r} in {OPERATION}, expected '+', '-' or '~'")
        return Operated(operation, row)


def _reading(titles: Sequence[str], size: int) -> arrow_csv.ReadOptions:
    """Large texts in blocks, on all cores; a record that is longer than a block has it all be read by Python."""
    return arrow_csv.ReadOptions(column_names=titles, use_threads=size > _BLOCK, block_size=min(size + 1, _BLOCK))


def _is_text(kind: str) -> bool:
    return kind.lower().startswith(("string", "varchar", "char", "binary", "variant"))
