"""WATERMARK: rows that wait until enough later ones have been seen (B7).

    a row with value x is held until a row with a value >= x + e has been seen, this step's rows included

A deletion is held like its row; NULL, NaN and infinite values are not held and move nothing. Held rows are no part of
their table's content. They stay on the driver.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from penstock.analysis.bounds import Bound
from penstock.analysis.declarations import held_columns, watermark_bound
from penstock.catalog.model import Column, Table
from penstock.steps.intake.lateness import comparable


@dataclass(frozen=True)
class HeldColumn:
    """A column with WATERMARK: its place in the row and its delay."""

    column: Column
    place: int
    bound: Bound

    @property
    def name(self) -> str:
        """The column's name in lower case."""
        return self.column.name.lower()

    def holds(self, value: Any, seen: Any) -> bool:
        """True if a row with this (comparable) value waits when `seen` is the largest so far."""
        if not _counts(value):
            return False
        released_by = self.bound.above(value)
        return released_by is None or seen < released_by


def _counts(value: Any) -> bool:
    return value is not None and not (isinstance(value, float) and math.isinf(value))


@dataclass(frozen=True)
class Holding:
    """The rows of one table that wait (a change), and the largest values seen; frozen, as a step may be refused."""

    columns: tuple[HeldColumn, ...] = ()
    seen: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    waiting: pa.Table | None = None

    @property
    def count(self) -> int:
        """The number of rows that wait."""
        return 0 if self.waiting is None else int(self.waiting.num_rows)

    def after(self, received: Mapping[str, Iterable[Any]], accepted: pa.Table) -> tuple[pa.Table, Holding]:
        """The rows released by a step that received these values, by column, and accepted this change."""
        if not self.columns:
            return accepted, self
        seen = dict(self.seen)
        for item in self.columns:
            values = [value for value in received.get(item.name, ()) if _counts(value)]
            if values:
                seen[item.name] = max([*values, seen[item.name]] if item.name in seen else values)
        together = accepted if self.waiting is None else pa.concat_tables([self.waiting, accepted])
        held = pa.array(self._held(together, seen), pa.bool_())
        waiting = together.filter(held)
        released = together.filter(pc.invert(held))
        return released, replace(self, seen=MappingProxyType(seen), waiting=waiting if waiting.num_rows else None)

    def _held(self, rows: pa.Table, seen: Mapping[str, Any]) -> list[bool]:
        held = [False] * rows.num_rows
        for item in self.columns:
            for index, value in enumerate(comparable(rows.column(item.place))):
                held[index] = held[index] or item.holds(value, seen.get(item.name))
        return held

    def emptied(self) -> Holding:
        """The same with nothing waiting: the end of input releases all."""
        return replace(self, waiting=None)

    def line(self, column: str, waterline: Any) -> Any:
        """The waterline that readers get for a column: the smaller of W and (largest value seen - e)."""
        item = next((found for found in self.columns if found.name == column.lower()), None)
        if item is None or waterline is None:
            return waterline
        seen = self.seen.get(item.name)
        delayed = None if seen is None else item.bound.below(seen)
        return None if delayed is None else min(waterline, delayed)


def declared_holding(table: Table) -> Holding:
    """The WATERMARK columns of a table before its first step; SqlError for a key, or a delay that does not fit."""
    held = held_columns(table)
    places = ((place, column) for place, column in enumerate(table.columns) if column in held)
    return Holding(tuple(HeldColumn(column, place, watermark_bound(column)) for place, column in places))
