"""Rows of Arrow as tuples of Python values, and values as hashable ones that are equal where Spark finds them equal."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

import pyarrow as pa

from penstock.errors import DataError, Diagnostic

Row = tuple[Any, ...]
Key = tuple[Any, ...]


def python_values(table: pa.Table) -> list[tuple[Any, ...]]:
    """An Arrow table as tuples: naive UTC datetimes, dicts for structs and maps."""
    columns = [_column_values(column) for column in table.columns]
    return list(zip(*columns, strict=True)) if columns else [()] * table.num_rows


def _column_values(column: pa.ChunkedArray) -> list[Any]:
    kind = column.type
    if pa.types.is_timestamp(kind):
        column = column.cast(pa.timestamp("us", tz=kind.tz)).cast(pa.int64()).cast(pa.timestamp("us"))
    if pa.types.is_string(kind):
        return _texts(column)
    try:
        values: list[Any] = column.to_pylist()
    except (OverflowError, ValueError) as error:
        message = "a DATE or TIMESTAMP outside the years 1 to 9999, which Python has no value for"
        raise DataError(Diagnostic("NO_PYTHON_VALUE", message, hint="arrow() and df() have it as it is")) from error
    return [_plain(value, kind) for value in values] if pa.types.is_nested(kind) else values


def _texts(column: pa.ChunkedArray) -> list[str | None]:
    """Texts; bytes that are none (`CAST(binary AS STRING)`) are shown as Java shows them."""
    try:
        found: list[str | None] = column.to_pylist()
    except UnicodeDecodeError:
        values = column.cast(pa.binary()).to_pylist()
        found = [None if value is None else value.decode(errors="replace") for value in values]
    return found


def _plain(value: Any, kind: pa.DataType) -> Any:
    if value is None:
        return None
    if pa.types.is_map(kind):
        return {_hashable(_plain(key, kind.key_type)): _plain(item, kind.item_type) for key, item in value}
    if pa.types.is_struct(kind):
        return {field.name: _plain(value[field.name], field.type) for field in kind}
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return [_plain(item, kind.value_type) for item in value]
    return value.replace(tzinfo=None) if isinstance(value, datetime) else value


def _hashable(key: Any) -> Any:
    """A key of a MAP as a key of a dict: a STRUCT or an ARRAY as the tuple of its values."""
    if isinstance(key, dict):
        return tuple(map(_hashable, key.values()))
    return tuple(map(_hashable, key)) if isinstance(key, list) else key


def canonical(value: Any) -> Any:
    """A value as a hashable one that is equal where Spark's grouping is: NaN to NaN, -0.0 to 0.0.

    Spark groups MAPs whatever the order of their entries. A row shows it, so here it is a part of the value.
    """
    if isinstance(value, float):
        return value if value == value else "\0NaN"  # noqa: PLR0124 - only NaN differs from itself
    if isinstance(value, Mapping):
        return tuple((canonical(key), canonical(item)) for key, item in value.items())
    if isinstance(value, list | tuple):
        return tuple(canonical(item) for item in value)
    return value


def canonical_row(row: Iterable[Any]) -> Key:
    """A whole row, hashable."""
    return tuple(canonical(value) for value in row)
