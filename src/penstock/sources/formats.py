"""The formats of files: a piece of a file as rows of a table.

    json      one object a line: a row, or {"insert" | "delete" | "update": row}
    csv       a header line; an optional column __op ('+', '-', '~'); an empty field is NULL
    parquet   columns by name; an optional column __op

A broken row alone goes to `error_view`, with `path:line`.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json as arrow_json
import pyarrow.parquet as pq

from penstock.catalog.model import Table
from penstock.errors import DataError, Diagnostic
from penstock.steps.rows.batch import DELETE, INSERT, UPDATE, Batch, RowReader, reject_row
from penstock.steps.rows.columns import OPERATION, arrow_type
from penstock.steps.rows.rejected import Rejections

_OPERATIONS = {"insert": INSERT, "delete": DELETE, "update": UPDATE}
_CHUNK = 4 << 20
_LONGEST = 256 << 20


@dataclass(frozen=True)
class Position:
    """How far a file has been read: bytes, rows (for a diagnostic: lines), and the header line of a CSV file."""

    offset: int = 0
    rows: int = 0
    header: bytes = b""


@dataclass(frozen=True)
class Piece:
    """A part of a file: its bytes or rows (or why it is broken), how many rows, where it begins and ends."""

    path: Path
    data: Any
    rows: int
    before: int
    after: Position

    def place(self, index: int) -> str:
        """The place of one row in its file."""
        return f"{self.path}:{self.before + index + 1}"


class Format(Protocol):
    """How the files of a table are read."""

    name: str

    def piece(self, path: Path, at: Position, rows: int, *, settled: bool) -> Piece | None:
        """About `rows` rows from a position on; None if nothing complete is there.

        In a file that is `settled` (nobody has written to it for a while) what is there is complete.
        """

    def batch(self, piece: Piece, rejections: Rejections) -> Batch:
        """The checked rows of a piece."""

    def unread(self, offset: int, size: int) -> bool:
        """Whether a file of that size may have something behind the offset."""


def format_of(name: str, table: Table, readers: Callable[..., RowReader]) -> Format:
    """The format of that name for a table."""
    if name == "json":
        return JsonLines(table, readers(table))
    if name == "csv":
        return Csv(table, readers(table, text=True))
    return Parquet(table, readers(table))


def _lines(path: Path, offset: int, rows: int, *, settled: bool) -> tuple[bytes, int]:
    """Whole lines from an offset, about `rows` of them, and their number."""
    found = bytearray()
    with path.open("rb") as file:
        file.seek(offset)
        chunk = file.read(_CHUNK)
        while chunk and b"\n" not in chunk and len(found) < _LONGEST:
            found += chunk
            chunk = file.read(_CHUNK)
        found += chunk
        ended = not chunk or not file.read(1)
    end = len(found) if ended and settled else found.rfind(b"\n") + 1
    text = bytes(found[:end])
    count = text.count(b"\n") + (0 if text.endswith(b"\n") or not text else 1)
    if count > rows:
        text, count = text[: _end_of_line(text, rows)], rows
    return text, count


def _end_of_line(text: bytes, lines: int) -> int:
    end = 0
    for _ in range(lines):
        end = text.index(b"\n", end) + 1
    return end


class _Lines:
    """What JSON and CSV have in common: a file is lines, and the last one may not be complete yet."""

    def unread(self, offset: int, size: int) -> bool:
        return size > offset


class JsonLines(_Lines):
    """One JSON object on each line."""

    name = "json"

    def __init__(self, table: Table, reader: RowReader) -> None:
        self._table = table
        self._reader = reader
        self._columns = {column.name.lower() for column in table.columns}
        self._fast = _fast_schema(table)

    def piece(self, path: Path, at: Position, rows: int, *, settled: bool) -> Piece | None:
        text, count = _lines(path, at.offset, rows, settled=settled)
        after = Position(at.offset + len(text), at.rows + count)
        return Piece(path, text, count, at.rows, after) if text else None

    def batch(self, piece: Piece, rejections: Rejections) -> Batch:
        if self._fast is not None:
            table = self._parsed(piece)
            if table is not None:
                return self._reader.read_arrow(table, rejections, piece.place)
        return self._line_by_line(piece, rejections)

    def _parsed(self, piece: Piece) -> pa.Table | None:
        """All lines at once, where each is a plain row or an insert; None where a line must be looked at alone."""
        options = arrow_json.ParseOptions(explicit_schema=self._fast, unexpected_field_behavior="error")
        read = arrow_json.ReadOptions(use_threads=False, block_size=max(1 << 20, len(piece.data) + 1))
        try:
            table = arrow_json.read_json(io.BytesIO(piece.data), read, options)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            return None
        return self._unwrapped(table) if table.num_rows == piece.rows else None

    def _unwrapped(self, table: pa.Table) -> pa.Table | None:
        """Envelopes opened: the rows' columns and `__op`; None if a row is both plain and in an envelope."""
        plain = table.select([column.name for column in self._table.columns])
        masks = {name: pc.is_valid(table.column(name)) for name in _OPERATIONS}
        wrapped = pc.or_(pc.or_(masks["insert"], masks["delete"]), masks["update"])
        if not pc.any(wrapped).as_py():
            return plain
        columns = []
        for at, column in enumerate(plain.columns):
            if pc.any(pc.and_(wrapped, pc.is_valid(column))).as_py():
                return None
            inner = [pc.struct_field(table.column(name), [at]) for name in _OPERATIONS]
            columns.append(pc.coalesce(column, *inner))
        marks = pc.if_else(masks["delete"], DELETE, pc.if_else(masks["update"], UPDATE, INSERT))
        return pa.table([*columns, marks], names=[*plain.column_names, OPERATION])

    def _line_by_line(self, piece: Piece, rejections: Rejections) -> Batch:
        items: list[Any] = []
        places: list[int] = []
        for index, line in enumerate(piece.data.split(b"\n")):
            if not line.strip():
                continue
            try:
                items.append(self._item(line, piece.place(index)))
                places.append(index)
            except DataError as error:
                if not rejections.tolerant:
                    raise
                reject_row(rejections, self._table, piece.place(index), error, line.decode("utf-8", "replace"))
        return self._reader.read(items, rejections, lambda index: piece.place(places[index]))

    def _item(self, line: bytes, place: str) -> Any:
        try:
            value = json.loads(line.decode("utf-8"), parse_float=_number)
        except UnicodeDecodeError as error:
            raise _broken(self._table, place, f"not UTF-8 at byte {error.start}") from None
        except (ValueError, RecursionError) as error:
            raise _broken(self._table, place, f"not JSON: {error}") from None
        if not isinstance(value, Mapping):
            raise _broken(self._table, place, "expected a JSON object")
        if len(value) == 1:
            name, row = next(iter(value.items()))
            if name in _OPERATIONS and isinstance(row, Mapping) and name not in self._columns:
                return _OPERATIONS[name], row
        return INSERT, value


def _number(text: str) -> Any:
    """A JSON number that a float cannot hold exactly stays exact."""
    from decimal import Decimal

    exact, near = Decimal(text), float(text)
    return near if len(exact.as_tuple().digits) <= 15 else exact  # noqa: PLR2004 - digits that a double keeps


def _fast_schema(table: Table) -> pa.Schema | None:
    """The schema by which Arrow reads a whole piece, for types that it reads as we do; times come as text."""
    kinds = {
        **{name: arrow_type(name) for name in ("tinyint", "smallint", "int", "bigint", "double", "string", "boolean")},
        **dict.fromkeys(("timestamp", "timestamp_ntz", "date"), pa.string()),
    }
    known = all(column.default is None and column.type in kinds for column in table.columns)
    if not known or any(column.name.lower() in _OPERATIONS for column in table.columns):
        return None
    fields = [pa.field(column.name, kinds[column.type]) for column in table.columns]
    return pa.schema([*fields, *(pa.field(name, pa.struct(fields)) for name in _OPERATIONS)])


def _broken(table: Table, place: str, what: str) -> DataError:
    return DataError(Diagnostic("BROKEN_ROW", f"table {table.name}, {place}: {what}"))


class Csv(_Lines):
    """Comma-separated lines under a header."""

    name = "csv"

    def __init__(self, table: Table, reader: RowReader) -> None:
        self._table = table
        self._reader = reader
        self._delimiter = table.properties.get("delimiter", ",")

    def piece(self, path: Path, at: Position, rows: int, *, settled: bool) -> Piece | None:
        if not at.header:
            header, _ = _lines(path, 0, 1, settled=settled)
            return Piece(path, b"", 0, 0, Position(len(header), 1, header)) if header else None
        text, count = _lines(path, at.offset, rows, settled=settled)
        if not settled:
            text, count = _whole_records(text, count)
        after = Position(at.offset + len(text), at.rows + count, at.header)
        return Piece(path, text, count, at.rows, after) if text else None

    def batch(self, piece: Piece, rejections: Rejections) -> Batch:
        names = self._names(piece) if piece.data else []
        places: list[int] = []
        items: list[Any] = []
        reader = csv.reader(io.StringIO(piece.data.decode("utf-8", "replace")), delimiter=self._delimiter)
        line = 0
        for record in reader:
            index, line = line, reader.line_num
            if not record:
                continue
            try:
                items.append(self._item(names, record, piece.place(index)))
                places.append(index)
            except DataError as error:
                if not rejections.tolerant:
                    raise
                reject_row(rejections, self._table, piece.place(index), error, record)
        return self._reader.read(items, rejections, lambda index: piece.place(places[index]))

    def _names(self, piece: Piece) -> list[str]:
        text = piece.after.header.decode("utf-8-sig", "replace").strip("\r\n")
        names = next(csv.reader([text], delimiter=self._delimiter), [])
        known = {column.name.lower() for column in self._table.columns} | {OPERATION}
        for name in names:
            if name.strip().lower() not in known:
                raise _broken(self._table, f"{piece.path}:1", f"there is no column {name[:100]!r}")
        return [name.strip() for name in names]

    def _item(self, names: list[str], record: list[str], place: str) -> Any:
        if len(record) != len(names):
            raise _broken(self._table, place, f"found {len(record)} fields, expected {len(names)}")
        row: dict[str, Any] = {name: value if value != "" else None for name, value in zip(names, record, strict=True)}
        operation = row.pop(OPERATION, INSERT) or INSERT
        if operation not in _OPERATIONS.values():
            raise _broken(self._table, place, f"found {operation[:20]!r} in {OPERATION}, expected '+', '-' or '~'")
        return operation, row


def _whole_records(text: bytes, count: int) -> tuple[bytes, int]:
    """The text up to the last line at which no quoted field is open."""
    if text.count(b'"') % 2 == 0:
        return text, count
    end = text.rfind(b"\n", 0, text.rfind(b'"')) + 1
    while end and text[:end].count(b'"') % 2:
        end = text.rfind(b"\n", 0, end - 1) + 1
    return text[:end], text[:end].count(b"\n")


class Parquet:
    """Parquet files, each read once it is complete; offsets count rows."""

    name = "parquet"

    def __init__(self, table: Table, reader: RowReader) -> None:
        self._table = table
        self._reader = reader

    def piece(self, path: Path, at: Position, rows: int, *, settled: bool) -> Piece | None:
        end = path.stat().st_size
        try:
            file = pq.ParquetFile(path)
        except pa.ArrowInvalid as error:
            return Piece(path, str(error), 0, at.rows, Position(end)) if settled else None
        total = file.metadata.num_rows
        data = _parquet_rows(file, at.rows, min(rows, total - at.rows))
        read = at.rows + data.num_rows
        return Piece(path, data, data.num_rows, at.rows, Position(end if read >= total else 0, read))

    def batch(self, piece: Piece, rejections: Rejections) -> Batch:
        if isinstance(piece.data, str):
            error = _broken(self._table, str(piece.path), f"not a Parquet file: {piece.data}")
            if not rejections.tolerant:
                raise error
            reject_row(rejections, self._table, str(piece.path), error, None)
            return self._reader.read([], rejections)
        try:
            return self._reader.read_arrow(piece.data, rejections, piece.place)
        except DataError:
            if not rejections.tolerant:
                raise
        return self._reader.read_arrow_rows(piece.data.to_pylist(), rejections, piece.place)

    def unread(self, offset: int, size: int) -> bool:
        return offset < size


def _parquet_rows(file: pq.ParquetFile, start: int, count: int) -> pa.Table:
    """Some rows of a Parquet file, reading only the row groups that hold them."""
    groups: list[int] = []
    first, seen = 0, 0
    for group in range(file.metadata.num_row_groups):
        size = file.metadata.row_group(group).num_rows
        if seen + size > start and seen < start + count:
            first = seen if not groups else first
            groups.append(group)
        seen += size
    return file.read_row_groups(groups).slice(start - first, count)
