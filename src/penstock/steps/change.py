"""The change that a step has made to one view, as the user gets it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from penstock.backends.api import Delta
from penstock.backends.rows import canonical_row, python_values
from penstock.catalog.reserved import WEIGHT
from penstock.engine.handing import nothing_changed

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


WeightedRow = tuple[int, tuple[Any, ...]]


class Change:
    """The consolidated change of one view in one step.

    `view` is its name, `columns` are those of the rows, `step` and `clock` (naive UTC) are the step's.
    `rows` are `(weight, row)` pairs, each different row once; timestamps are naive UTC datetimes, a struct is a dict.
    `arrow()` and `df()` give the same with the weight as the last column, `__weight`; `arrow(consolidated=False)` gives
    the rows as they were made, which is quicker where they are many: equal ones may stand apart. Iterating gives the
    rows, and `len()` their number.
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
        rows, read = self._delta.fetched()
        return [(weight, read(row)) for weight, row in consolidated_rows(rows)]

    @property
    def in_order(self) -> list[WeightedRow]:
        """The rows in the order in which a standing query shows them, equal ones apart."""
        if self._delta is None or not self._delta.on_driver:
            return self.rows
        return [(row[-1], row[:-1]) for row in python_values(self._delta.arrow())]

    @property
    def weight(self) -> int:
        """The number of rows, each as often as its weight says."""
        if self._delta is None or not self._delta.on_driver:
            return sum(weight for weight, _ in self.rows)
        return int(pc.sum(self._delta.arrow().column(WEIGHT)).as_py() or 0)

    @cached_property
    def _consolidated(self) -> Delta | None:
        return None if self._delta is None or self._delta.is_empty() else self._delta.consolidated()

    def arrow(self, *, consolidated: bool = True) -> pa.Table:
        """The change as an Arrow table; without columns if nothing has changed."""
        if not consolidated and self._delta is not None and not self._delta.is_empty():
            return self._delta.arrow()
        return pa.table({}) if self._consolidated is None else self._consolidated.arrow()

    def df(self) -> DataFrame:
        """The change as a Spark DataFrame."""
        if self._consolidated is not None:
            return self._consolidated.handed_over()
        return nothing_changed(self.columns)

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
    return Change(after.view, after.columns, after.step, after.clock, before.delta.followed_by(after.delta))


def consolidated_rows(rows: list[tuple[Any, ...]]) -> list[WeightedRow]:
    """Rows that end with a weight as `(weight, row)`, equal rows added up."""
    found: dict[Any, list[Any]] = {}
    for row in rows:
        entry = found.setdefault(canonical_row(row[:-1]), [0, row[:-1]])
        entry[0] += row[-1]
    return [(weight, row) for weight, row in found.values() if weight]
