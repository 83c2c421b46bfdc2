"""What a step has changed in one view, as the user gets it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from penstock.catalog.reserved import WEIGHT
from penstock.plan.scalar import quoted
from penstock.steps.intake.store import canonical_row
from penstock.steps.rows.parts import changed_parts, part_changer

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from penstock.spark.change import Delta

WeightedRow = tuple[int, tuple[Any, ...]]


class Change:
    """The consolidated change of one view in one step.

    `rows` are `(weight, row)` pairs, each different row once; timestamps are naive UTC datetimes, a struct is a dict.
    `arrow()` and `df()` give the same with the weight as the last column, `__weight`.
    """

    def __init__(self, view: str, columns: tuple[str, ...], step: int, clock: datetime, delta: Delta | None) -> None:
        self.view = view
        self.columns = columns
        self.step = step
        self.clock = clock
        self._delta = delta

    @cached_property
    def rows(self) -> list[WeightedRow]:
        """The change as `(weight, row)` pairs."""
        if self._delta is None or self._delta.is_empty():
            return []
        if self._delta.on_driver:
            return consolidated_rows(python_values(self._delta.arrow()))
        # Python finds True and 1 equal, which differ in a VARIANT: rows are added up before its JSON is read.
        rows, read = _fetched(self._delta.frame())
        return [(weight, read(row)) for weight, row in consolidated_rows(rows)]

    @cached_property
    def _consolidated(self) -> Delta | None:
        return None if self._delta is None or self._delta.is_empty() else self._delta.consolidated()

    def arrow(self) -> pa.Table:
        """The change as an Arrow table; without columns if nothing has changed."""
        return pa.table({}) if self._consolidated is None else self._consolidated.arrow()

    def df(self) -> DataFrame:
        """The change as a Spark DataFrame."""
        if self._consolidated is not None:
            frame = self._consolidated.frame()
            self._consolidated.workspace.checkpoints.leave(frame)
            return frame
        from pyspark.sql import SparkSession

        session = SparkSession.getActiveSession()
        assert session is not None  # noqa: S101 - a step has run on it
        return session.createDataFrame(
            [], ", ".join([*(f"{quoted(name)} void" for name in self.columns), f"{WEIGHT} bigint"])
        )

    @property
    def delta(self) -> Delta | None:
        """The engine's change, not consolidated; None if there is none."""
        return self._delta

    def __iter__(self) -> Iterator[WeightedRow]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __repr__(self) -> str:
        return f"Change({self.view!r}, step={self.step}, rows={self.rows!r})"


def merged(before: dict[str, Change], after: dict[str, Change]) -> dict[str, Change]:
    """The changes of several steps as one, for each view."""
    if not before or not after:
        return after or before
    return {name: _added(before.get(name), change) for name, change in after.items()}


def _added(before: Change | None, after: Change) -> Change:
    if before is None or before.delta is None:
        return after
    if after.delta is None:
        return Change(after.view, after.columns, after.step, after.clock, before.delta)
    from penstock.spark.change import Delta

    union = before.delta.frame().union(after.delta.frame())
    delta = Delta.of_frame(after.delta.workspace, union, estimate=before.delta.count() + after.delta.count())
    return Change(after.view, after.columns, after.step, after.clock, delta.settled())


def consolidated_rows(rows: list[tuple[Any, ...]]) -> list[WeightedRow]:
    """Rows that end with a weight as `(weight, row)`, equal rows added up."""
    found: dict[Any, list[Any]] = {}
    for row in rows:
        entry = found.setdefault(canonical_row(row[:-1]), [0, row[:-1]])
        entry[0] += row[-1]
    return [(weight, row) for weight, row in found.values() if weight]


def fetched_rows(frame: DataFrame) -> list[tuple[Any, ...]]:
    """The rows of a DataFrame as tuples of Python values."""
    rows, read = _fetched(frame)
    return list(map(read, rows))


def _fetched(frame: DataFrame) -> tuple[list[tuple[Any, ...]], Callable[[tuple[Any, ...]], tuple[Any, ...]]]:
    """The rows as tuples in which a VARIANT is its JSON, and what makes it the value that it stands for."""
    from penstock.spark.typetext import type_text

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
