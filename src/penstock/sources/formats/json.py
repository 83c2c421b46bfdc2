"""One JSON object on each line: a row, or `{"insert" | "delete" | "update": row}`.

A piece is read at once by Arrow where that reads as we do; where it does not, or a line is no plain row, line by line.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable, Mapping
from decimal import Decimal
from functools import reduce
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json as arrow_json

from penstock.backends.columns import arrow_type
from penstock.catalog.model import Table
from penstock.catalog.reserved import OPERATION
from penstock.sources.formats.api import Piece
from penstock.sources.formats.connect import Connect
from penstock.sources.formats.records import end_of_lines, next_piece
from penstock.sources.formats.rows import (
    Records,
    broken_batch,
    readable,
    refuse_record,
    refuse_without_column,
    utf8,
)
from penstock.sources.position import Position
from penstock.sources.transport import Stream
from penstock.steps.rows.batch import DELETE, INSERT, UPDATE, Batch, Operated, RowReader
from penstock.steps.rows.rejected import Rejections

_ENVELOPES = {"insert": INSERT, "delete": DELETE, "update": UPDATE}
_QUOTED = tuple(f'"{name}"'.encode() for name in _ENVELOPES)
_BLOCK = 1 << 20
_FLOAT_DIGITS = 15  # that a double keeps
_ODD = re.compile(rb"Inf(?!inity)|-NaN")  # which Arrow takes for numbers
# Between two objects that stand alone on their lines; within one, an object must be followed by a comma or its end.
_BETWEEN = re.compile(rb"\}[ \t]*+(?:\r\n|\n|\r)[ \t]*+\{")


class JsonLines:
    """The format json."""

    name = "json"

    def __init__(
        self,
        table: Table,
        reader: RowReader,
        *,
        ignore_unknown: bool,
        adds: bool = False,
        complete: bool = False,
        tell: Callable[[Mapping[str, str]], None] | None = None,
    ) -> None:
        self._table = table
        self._connect = Connect(table)
        self._tell = tell
        self._reader = reader
        self._columns = {column.name.lower() for column in table.shown}
        self._plain = None if complete else _fast_schema(table)
        self._wrapped = None if self._plain is None else _with_envelopes(self._plain)
        self._ignore_unknown = ignore_unknown
        self._adds = adds
        self._unexpected = "infer" if ignore_unknown else "error"

    def piece(
        self, stream: Stream, at: Position, rows: int, *, complete: bool, until: int | None = None
    ) -> Piece | None:
        """About `rows` lines from a position on."""
        return next_piece(stream, at, rows, end_of_lines, complete=complete, until=until)

    def batch(self, piece: Piece, rejections: Rejections) -> Batch:
        """The rows of its lines."""
        if not isinstance(piece.data, bytes) or not piece.data:
            return broken_batch(self._table, piece, self._reader, rejections)
        table = self.parsed(piece)
        if table is not None:
            return self._reader.read_arrow(table, rejections, piece.place)
        return self._line_by_line(piece, rejections)

    def parsed(self, piece: Piece) -> pa.Table | None:
        """All lines at once, where each is a plain row or an insert; None where a line must be looked at alone."""
        text = piece.data
        objects = 0 if self._plain is None else _objects(text)
        if self._plain is None or objects != piece.after.lines - piece.at.lines or not _is_utf8(text):
            return None
        if b'"payload"' in text and b'"schema"' in text:
            return None  # perhaps an envelope of Kafka Connect
        if (b"Inf" in text or b"-NaN" in text) and _ODD.search(text):
            return None
        wrapped = any(name in text for name in _QUOTED)
        schema = self._wrapped if wrapped else self._plain
        options = arrow_json.ParseOptions(explicit_schema=schema, unexpected_field_behavior=self._unexpected)
        try:
            table = arrow_json.read_json(io.BytesIO(text), _reading(len(text)), options)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            return None
        if table.num_rows != objects or not self._as_declared(table.schema, wrapped=wrapped):
            return None
        rows = self._unwrapped(table) if wrapped else table.select(self._plain.names)
        return None if rows is None or _has_empty_row(rows) else rows

    def _as_declared(self, schema: pa.Schema, *, wrapped: bool) -> bool:
        """True if no field beyond the declared ones is a column in another spelling, or is to be one.

        Where no envelope was seen, a field that is one all the same is written with escapes.
        """
        envelopes = _ENVELOPES if wrapped else ()
        fields = [*schema, *(part for name in envelopes for part in schema.field(name).type)]
        declared = {column.name for column in self._table.required}
        beyond = [item for item in fields if item.name not in declared and item.name not in envelopes]
        if self._adds and any(not pa.types.is_null(item.type) for item in beyond):
            return False
        return not any(item.name in _ENVELOPES or item.name.lower() in self._columns for item in beyond)

    def _unwrapped(self, table: pa.Table) -> pa.Table | None:
        """Envelopes opened: the rows' columns and `__op`; None if a row is not plainly one or the other."""
        plain = table.select([column.name for column in self._table.required])
        masks = {name: pc.is_valid(table.column(name)) for name in _ENVELOPES}
        wrapped = pc.or_(pc.or_(masks["insert"], masks["delete"]), masks["update"])
        if not pc.any(wrapped).as_py():
            return plain
        if table.num_columns > len(plain.columns) + len(_ENVELOPES):
            return None
        columns = []
        for at, column in enumerate(plain.columns):
            if pc.any(pc.and_(wrapped, pc.is_valid(column))).as_py():
                return None
            inner = [pc.struct_field(table.column(name), [at]) for name in _ENVELOPES]
            columns.append(pc.coalesce(column, *inner))
        if _envelopes(masks) > 1:
            return None
        marks = pc.if_else(masks["delete"], DELETE, pc.if_else(masks["update"], UPDATE, INSERT))
        return pa.table([*columns, marks], names=[*plain.column_names, OPERATION])

    def _line_by_line(self, piece: Piece, rejections: Rejections) -> Batch:
        records = Records(self._table, piece, rejections, self.row, readable)
        for index, line in enumerate(piece.data.splitlines()):
            if line.strip():
                records.add(index, line)
        return records.batch(self._reader)

    def row(self, line: bytes, place: str) -> Operated:
        """The operation that one line says; DataError if it says none."""
        value = self._connected(parsed_json(self._table, line, place))
        if not isinstance(value, Mapping):
            refuse_record(self._table, place, "expected a JSON object")
        operated = self._operated(value, place)
        refuse_without_column(self._table, operated.row, place, adds=self._adds)
        return operated

    def _connected(self, value: Any) -> Any:
        """The payload of an envelope of Kafka Connect, and any other value as it is."""
        envelope = self._connect.opened(value)
        if envelope is None:
            return value
        if isinstance(envelope.payload, Mapping):
            if self._tell is not None:
                self._tell(self._connect.new_columns(envelope.schema))
            return self._connect.meant(envelope.schema, envelope.payload)
        only = self._table.required
        return {only[0].name: self._connect.value(envelope, only[0].name)} if len(only) == 1 else envelope.payload

    def _operated(self, value: Mapping[str, Any], place: str) -> Operated:
        found = [name for name in _ENVELOPES if isinstance(value.get(name), Mapping) and name not in self._columns]
        if not found:
            return Operated(INSERT, self._without_empty(value))
        value = self._beside_nothing(self._without_empty(value))
        if len(found) > 1 or any(name.lower() in self._columns for name in value):
            refuse_record(self._table, place, f"{found[0]!r} stands beside other operations or columns")
        if len(value) > 1 and not self._ignore_unknown:
            beside = next(name for name in value if name not in found)
            refuse_record(self._table, place, f"{beside[:100]!r} stands beside {found[0]!r}")
        return Operated(_ENVELOPES[found[0]], value[found[0]])

    def _without_empty(self, value: Mapping[str, Any]) -> Mapping[str, Any]:
        """A row without operations that are there and NULL, which say nothing."""
        empty = [name for name in _ENVELOPES if name in value and value[name] is None and name not in self._columns]
        return {name: item for name, item in value.items() if name not in empty} if empty else value

    def _beside_nothing(self, value: Mapping[str, Any]) -> Mapping[str, Any]:
        """An operation without the columns beside it that are NULL, which say nothing either."""
        return {name: item for name, item in value.items() if item is not None or name.lower() not in self._columns}


def parsed_json(table: Table, text: bytes, place: str) -> Any:
    """The value that a text of JSON says; DataError if it says none."""
    try:
        return json.loads(utf8(table, text, place), parse_float=exact_number)
    except (ValueError, RecursionError, ArithmeticError) as error:
        refuse_record(table, place, f"not JSON: {error}")


def _has_empty_row(rows: pa.Table) -> bool:
    """True if a row has no value, which may be an object without any of the columns."""
    columns = [column for name, column in zip(rows.column_names, rows.columns, strict=True) if name != OPERATION]
    if any(not column.null_count for column in columns):
        return False
    return bool(pc.any(reduce(pc.and_, (pc.is_null(column) for column in columns))).as_py())


def _reading(size: int) -> arrow_json.ReadOptions:
    """Large texts in blocks, on all cores."""
    return arrow_json.ReadOptions(use_threads=size > _BLOCK, block_size=_BLOCK)


def _envelopes(masks: Mapping[str, pa.ChunkedArray]) -> int:
    """In how many envelopes a row is at most."""
    counts = [mask.cast(pa.int8()) for mask in masks.values()]
    return int(pc.max(pc.add(pc.add(counts[0], counts[1]), counts[2])).as_py())


def _objects(text: bytes) -> int:
    """The number of lines, if each is an object by itself; 0 if not."""
    if not text.startswith(b"{") or not text.rstrip(b" \t\r\n").endswith(b"}"):
        return 0
    plain = text.count(b"}\n{") + 1
    return plain if plain == text.count(b"\n") and b"\r" not in text else len(_BETWEEN.findall(text)) + 1


def _is_utf8(text: bytes) -> bool:
    try:
        text.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def exact_number(text: str) -> Any:
    """A JSON number that a float cannot hold exactly stays exact."""
    exact, near = Decimal(text), float(text)
    return near if len(exact.as_tuple().digits) <= _FLOAT_DIGITS else exact


def _fast_schema(table: Table) -> pa.Schema | None:
    """The schema by which Arrow reads a whole piece, for types that it reads as we do; times come as text."""
    kinds = {
        **{name: arrow_type(name) for name in ("tinyint", "smallint", "int", "bigint", "double", "string", "boolean")},
        **dict.fromkeys(("timestamp", "timestamp_ntz", "date"), pa.string()),
    }
    known = all(column.default is None and column.type in kinds for column in table.required)
    if not known or any(column.name.lower() in _ENVELOPES for column in table.required):
        return None
    return pa.schema([pa.field(column.name, kinds[column.type]) for column in table.required])


def _with_envelopes(schema: pa.Schema) -> pa.Schema:
    return pa.schema([*schema, *(pa.field(name, pa.struct(list(schema))) for name in _ENVELOPES)])
