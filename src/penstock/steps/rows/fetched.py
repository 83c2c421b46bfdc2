"""DataFrames and Arrow tables as tuples of Python values: naive UTC datetimes, dicts for structs and maps."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from penstock.backends.spark.typetext import type_text
from penstock.engine.constants import constants_here
from penstock.steps.rows.parts import changed_parts, part_changer

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from penstock.backends.native.store import Store
    from penstock.backends.spark.workspace import Workspace


def fetched_rows(frame: DataFrame) -> list[tuple[Any, ...]]:
    """The rows of a DataFrame as tuples of Python values."""
    rows, read = fetched_parts(frame)
    return list(map(read, rows))


def constant_row(workspace: Workspace, store: Store | None, texts: Sequence[str]) -> tuple[Any, ...]:
    """The values of constants of Spark SQL: in the process where they are proven, by one query of Spark otherwise."""
    here = constants_here(store, texts)
    if here is not None:
        (row,) = python_values(here)
        return row
    terms = ", ".join(f"{text} AS v{place}" for place, text in enumerate(texts))
    (row,) = fetched_rows(workspace.sql(f"SELECT {terms}"))
    return row


def fetched_parts(frame: DataFrame) -> tuple[list[tuple[Any, ...]], Callable[[tuple[Any, ...]], tuple[Any, ...]]]:
    """The rows as tuples in which a VARIANT is its JSON, and what makes it the value that it stands for."""
    kinds = [type_text(field.dataType) for field in frame.schema.fields]
    places = [f"c{at}" for at in range(len(kinds))]
    expressions = [_fetchable(place, kind) for place, kind in zip(places, kinds, strict=True)]
    rows = python_values(frame.toDF(*places).selectExpr(*expressions).toArrow())
    changers = {at: change for at, kind in enumerate(kinds) if (change := part_changer(kind, "variant", json.loads))}
    if not changers:
        return rows, lambda row: row
    return rows, lambda row: tuple(changers[at](value) if at in changers else value for at, value in enumerate(row))


def _fetchable(name: str, kind: str) -> str:
    """A column as an expression that Arrow can carry: a VARIANT as JSON, months as their text."""
    plain = "variant" not in kind and "interval" not in kind
    return name if plain else f"{changed_parts(name, kind, _fetchable_part)} AS {name}"


def _fetchable_part(text: str, kind: str) -> str:
    if kind == "variant":
        return f"to_json({text})"
    months = kind.startswith("interval") and ("year" in kind or "month" in kind)
    return f"CAST({text} AS STRING)" if months or kind == "interval" else text


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
    values: list[Any] = column.to_pylist()
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
