"""LATENESS: the waterline of each declared column, and which rows are late (B2, B6, B12).

    W(0) = nothing;  W(k) = max(W(k-1), max over the rows of step k of c - e)
    a row is late iff some c is not NULL and c < W of the steps before

Waterlines are plain Python values: numbers, or naive `datetime`s in UTC (a DATE is its midnight).
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, time, timedelta
from types import MappingProxyType
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from penstock.analysis.bounds import Bound
from penstock.analysis.declarations import late_bounds
from penstock.backends.judging import JudgedColumn, Judging
from penstock.catalog.model import Column, Table

_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 - UTC, as all values here


@dataclass(frozen=True)
class Waterline:
    """The waterline of one column: `at` (None: nothing yet), the largest value seen, for n ROWS the largest few."""

    at: Any = None
    largest: tuple[Any, ...] = ()
    seen: Any = None


NONE_YET = Waterline()


@dataclass(frozen=True)
class PartitionLines:
    """The lines of one partition's own rows, by column, and the clock up to which it counts if it stays silent."""

    until: datetime
    waterlines: Mapping[str, Waterline] = field(default_factory=lambda: MappingProxyType({}))


@dataclass(frozen=True)
class LateColumn:
    """A column with LATENESS: its place in the row and its bounds."""

    column: Column
    place: int
    bound: Bound
    rows: int | None
    ahead: Bound | None

    @property
    def drops(self) -> bool:
        """True if late rows are dropped at the table, and not judged by who reads them."""
        return self.column.lateness is None or self.column.lateness.drops

    def limit(self, waterline: Waterline) -> Any:
        """The value below which rows are late; None if none are."""
        return waterline.at if self.drops else None

    def is_late(self, value: Any, waterline: Waterline) -> bool:
        """True if a row with this (comparable) value is late."""
        limit = self.limit(waterline)
        return value is not None and limit is not None and value < limit

    def is_future(self, value: Any, clock: datetime) -> bool:
        """True if the value is further ahead of the clock than AHEAD allows."""
        limit = self.ahead.above(clock) if self.ahead is not None and value is not None else None
        return limit is not None and value > limit

    def moved(self, waterline: Waterline, values: Iterable[Any]) -> Waterline:
        """The waterline after rows with these values."""
        present = [value for value in values if value is not None]
        if not present:
            return waterline
        seen = later(waterline.seen, max(present))
        if self.rows is None:
            return Waterline(later(waterline.at, self._passed(self.bound.below(max(present)))), seen=seen)
        largest = tuple(heapq.nlargest(self.rows + 1, [*waterline.largest, *present]))
        at = largest[self.rows] if len(largest) > self.rows else None
        return Waterline(later(waterline.at, at), largest, seen)

    def _passed(self, value: Any) -> Any:
        """The value, or the last end of a window that is not above it, where the waterline keeps to a grid."""
        grid = None if self.column.lateness is None else self.column.lateness.grid
        if grid is None or value is None:
            return value
        micros = (value - _EPOCH) // timedelta(microseconds=1)
        return value - timedelta(microseconds=(micros - grid.origin) % grid.slide)


def later(old: Any, new: Any) -> Any:
    """The later of two values, of which either may not be there yet."""
    return new if old is None or (new is not None and new > old) else old


@dataclass(frozen=True)
class TableLateness:
    """The values that the LATENESS columns of one table have seen; frozen, so a refused step has changed nothing.

    `partitions` are those of its source, each with its own lines (`apart`); there are none where it has none.
    """

    columns: tuple[LateColumn, ...] = ()
    waterlines: Mapping[str, Waterline] = field(default_factory=lambda: MappingProxyType({}))
    partitions: Mapping[str, PartitionLines] = field(default_factory=lambda: MappingProxyType({}))

    def waterline(self, item: LateColumn) -> Waterline:
        """The waterline of one column."""
        return self.waterlines.get(item.column.name.lower(), NONE_YET)

    def lines(self) -> dict[str, tuple[Any, str]]:
        """The waterline of each column, by its lower-case name, and the column's type."""
        return {item.column.name.lower(): (self.waterline(item).at, item.column.type) for item in self.columns}

    @property
    def limits(self) -> list[tuple[int, Any]]:
        """The value below which rows are late in each column, by its place; None where none are."""
        return [(item.place, item.limit(self.waterline(item))) for item in self.columns]

    def judging(self, clock: datetime) -> Judging:
        """The columns as a backend judges rows by them, when the clock stands so."""
        return tuple(
            JudgedColumn(
                item.column.name,
                item.column.type,
                item.place,
                item.limit(self.waterline(item)),
                None if item.ahead is None else item.ahead.above(clock),
            )
            for item in self.columns
        )

    def late(self, row: Mapping[int, Any] | list[Any], columns: Iterable[LateColumn] | None = None) -> bool:
        """True if a row (comparable values by place) is below some waterline."""
        chosen = self.columns if columns is None else columns
        return any(item.is_late(row[item.place], self.waterline(item)) for item in chosen)

    def within(self, names: Iterable[str]) -> TableLateness:
        """The same of these columns alone."""
        lower = {name.lower() for name in names}
        return replace(self, columns=tuple(item for item in self.columns if item.column.name.lower() in lower))

    def moved(self, values: Mapping[str, Iterable[Any]]) -> TableLateness:
        """The lateness after a step with these (comparable) values by lower-case column name."""
        found = dict(self.waterlines)
        for item in self.columns:
            name = item.column.name.lower()
            found[name] = item.moved(self.waterline(item), values.get(name, ()))
        return replace(self, waterlines=MappingProxyType(found))

    def advanced(self, column: str, value: Any) -> TableLateness:
        """The lateness after ADVANCE: W := max(W, value)."""
        name = column.lower()
        old = self.waterlines.get(name, NONE_YET)
        return replace(
            self, waterlines=MappingProxyType({**self.waterlines, name: replace(old, at=later(old.at, value))})
        )


def declared_lateness(table: Table) -> TableLateness:
    """The LATENESS columns of a table before its first step; SqlError if a bound does not fit its column."""
    late = [(place, column) for place, column in enumerate(table.columns) if column.lateness is not None]
    return TableLateness(tuple(late_column(table.name, column, place) for place, column in late))


def late_column(relation: str, column: Column, place: int) -> LateColumn:
    """A column that has LATENESS, at its place; SqlError if a bound does not fit its type."""
    bound, ahead = late_bounds(relation, column)
    return LateColumn(column, place, bound, None if column.lateness is None else column.lateness.rows, ahead)


def comparable(values: pa.ChunkedArray) -> list[Any]:
    """A column as values that compare with a waterline: naive datetimes, numbers, None for NULL and NaN."""
    kind = values.type
    if pa.types.is_timestamp(kind):
        values = values.cast(pa.int64()).cast(pa.timestamp("us"))
    elif pa.types.is_date(kind):
        values = values.cast(pa.timestamp("us"))
    found: list[Any] = values.to_pylist()
    if pa.types.is_floating(kind):
        return [None if value is None or math.isnan(value) else value for value in found]
    return found


def furthest(item: LateColumn, values: pa.ChunkedArray) -> list[Any]:
    """The values that move a column's waterline, comparable: the largest; for n ROWS, where several count, all."""
    if item.rows is not None:
        return comparable(values)
    if pa.types.is_floating(values.type):
        values = values.filter(pc.invert(pc.is_nan(values)))
    return comparable(pa.chunked_array([pa.array([pc.max(values)], values.type)]))


def comparable_value(value: Any) -> Any:
    """One Python value as `comparable` gives it."""
    if isinstance(value, datetime):
        return value.astimezone(UTC).replace(tzinfo=None) if value.tzinfo else value
    if isinstance(value, date):
        return datetime.combine(value, time(0))
    return None if isinstance(value, float) and math.isnan(value) else value
