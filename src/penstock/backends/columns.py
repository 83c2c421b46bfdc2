"""Spark's column types as Arrow types, without asking Spark.

`arrow_type('array<decimal(10,2)>')` is `list<decimal128(10, 2)>`. A VARIANT travels as JSON text, an interval of
months as its number of months; `frame_expression` says how Spark reads them back.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from penstock.catalog.model import Column, Table
from penstock.catalog.reserved import WEIGHT
from penstock.catalog.types import Type, plain_type, struct_fields, type_arguments
from penstock.errors import Diagnostic, UnsupportedError

_SIMPLE = {
    "boolean": pa.bool_(),
    "tinyint": pa.int8(),
    "smallint": pa.int16(),
    "int": pa.int32(),
    "bigint": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "string": pa.string(),
    "variant": pa.string(),
    "binary": pa.binary(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", tz="UTC"),
    "timestamp_ntz": pa.timestamp("us"),
    "void": pa.null(),
}
_DECIMAL = re.compile(r"decimal\((\d+),\s*(-?\d+)\)")
_TEXT = re.compile(r"(?:varchar|char)\((\d+)\)|string collate \S+")
_MONTHS = re.compile(r"interval (year|month|year to month)")


def arrow_type(kind: Type) -> pa.DataType:
    """The Arrow type that carries values of a Spark type; UnsupportedError if there is none."""
    kind = plain_type(kind)
    lower = kind.lower().strip()
    if lower in _SIMPLE:
        return _SIMPLE[lower]
    if match := _DECIMAL.fullmatch(lower):
        return pa.decimal128(int(match[1]), int(match[2]))
    if _TEXT.fullmatch(lower):
        return pa.string()
    if _MONTHS.fullmatch(lower):
        return pa.int32()
    if lower.startswith("interval"):
        return pa.duration("us")
    if lower.startswith("time(") or lower == "time":
        return pa.time64("ns")
    return _nested(kind.strip())


def _nested(kind: Type) -> pa.DataType:
    head, items = type_arguments(kind)
    if head == "array":
        return pa.list_(arrow_type(items[0]))
    if head == "map":
        return pa.map_(arrow_type(items[0]), arrow_type(items[1]))
    if head == "struct":
        return pa.struct([pa.field(name, arrow_type(item)) for name, item in struct_fields(kind)])
    raise UnsupportedError(Diagnostic("UNSUPPORTED_TYPE", f"values of type {kind.upper()} cannot be read from outside"))


def arrow_schema(columns: Sequence[Column]) -> pa.Schema:
    """The Arrow schema of a table's declared columns."""
    return pa.schema([pa.field(column.name, arrow_type(column.type)) for column in columns])


def fitted(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """The table with the types of a schema, its columns in their order.

    Arrow's cast leaves an array of VOID with fewer values than its offsets say, so that one is made of its values.
    """
    if table.schema.equals(schema):
        return table
    if not any(_holds_void(item.type) for item in schema):
        return table.cast(schema)
    columns = [
        pa.chunked_array([pa.array(column.to_pylist(), item.type)])
        if _holds_void(item.type)
        else column.cast(item.type)
        for column, item in zip(table.columns, schema, strict=True)
    ]
    return pa.Table.from_arrays(columns, schema=schema)


def _holds_void(kind: pa.DataType) -> bool:
    """True if every value of the type, or of one within it, is NULL."""
    if pa.types.is_nested(kind):
        return any(_holds_void(kind.field(place).type) for place in range(kind.num_fields))
    return bool(pa.types.is_null(kind))


def weighted_schema(columns: Sequence[Column]) -> pa.Schema:
    """The schema of a change of the table: its columns and the weight."""
    return arrow_schema(columns).append(pa.field(WEIGHT, pa.int64()))


def carried_plainly(kind: Type) -> bool:
    """True if Spark reads the Arrow type as the declared type, so that no expression is needed."""
    lower = kind.lower()
    if "<" in lower:
        inner = [item for _, item in struct_fields(kind)] if lower.startswith("struct") else type_arguments(kind)[1]
        return all(carried_plainly(item) for item in inner)
    return lower != "variant" and not _MONTHS.fullmatch(lower)


def parquet_plain(kind: Type) -> bool:
    """True if a Parquet file written by Arrow is read by Spark with this type."""
    lower = kind.lower()
    return carried_plainly(kind) and "interval" not in lower and not lower.startswith("time(") and "void" not in lower


def python_rows(rows: pa.Table) -> list[tuple[Any, ...]]:
    """Rows as tuples; timestamps are naive UTC datetimes."""
    columns = []
    for column in rows.columns:
        if pa.types.is_timestamp(column.type):
            column = column.cast(pa.timestamp("us", tz=column.type.tz)).cast(pa.int64()).cast(pa.timestamp("us"))  # noqa: PLW2901
        columns.append(column.to_pylist())
    return list(zip(*columns, strict=True)) if columns else [()] * rows.num_rows


def arrow_rows(schema: pa.Schema, rows: Sequence[tuple[Any, ...]]) -> pa.Table:
    """Tuples as an Arrow table."""
    columns = zip(*rows, strict=True) if rows else [()] * len(schema)
    return pa.Table.from_arrays(
        [pa.array(list(values), item.type) for values, item in zip(columns, schema, strict=True)], schema=schema
    )


def in_arrow(table: Table, fetched: pa.Table) -> pa.Table:
    """Rows fetched from Spark in the Arrow types of the declaration."""
    schema = arrow_schema(table.columns)
    columns = []
    for name in fetched.column_names:
        column = fetched.column(name)
        at = schema.get_field_index(name)
        columns.append(column if at < 0 or column.type == schema.field(at).type else column.cast(schema.field(at).type))
    return pa.Table.from_arrays(columns, names=fetched.column_names)
