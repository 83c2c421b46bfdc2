"""DataFrames as tuples of Python values: naive UTC datetimes, dicts for structs and maps."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from penstock.backends.parts import changed_parts, part_changer
from penstock.backends.rows import python_values
from penstock.backends.spark.typetext import type_text
from penstock.backends.spark.void_columns import fetched_arrow

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def fetched_rows(frame: DataFrame) -> list[tuple[Any, ...]]:
    """The rows of a DataFrame as tuples of Python values."""
    rows, read = fetched_parts(frame)
    return list(map(read, rows))


def fetched_parts(frame: DataFrame) -> tuple[list[tuple[Any, ...]], Callable[[tuple[Any, ...]], tuple[Any, ...]]]:
    """The rows as tuples in which a VARIANT is its JSON, and what makes it the value that it stands for."""
    kinds = [type_text(field.dataType) for field in frame.schema.fields]
    places = [f"c{at}" for at in range(len(kinds))]
    expressions = [_fetchable(place, kind) for place, kind in zip(places, kinds, strict=True)]
    rows = python_values(fetched_arrow(frame.toDF(*places).selectExpr(*expressions)))
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
