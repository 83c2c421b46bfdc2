"""The part of a store that is not at hand: rows that lie on the executors, and what a store may forget.

`process.ProcessRows` is the same in the process.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

import pyarrow as pa

from penstock.backends.columns import python_rows
from penstock.backends.rows import Key, Row, canonical_row
from penstock.backends.spark.change import Delta, consolidated
from penstock.backends.spark.exchange import as_delta, as_frame, declared_rows
from penstock.backends.spark.grouping import hash_text
from penstock.backends.spark.trace import Trace
from penstock.backends.thresholds import HELD_ROWS, LEAST_FORGOTTEN_ROWS
from penstock.catalog.model import Table
from penstock.catalog.reserved import KEY, WEIGHT
from penstock.plan.scalar import quoted
from penstock.steps.intake.judging import staying
from penstock.steps.intake.lateness import TableLateness, comparable_value

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from penstock.backends.spark.workspace import Workspace


def forgets(table: Table) -> bool:
    """True if keys of the table are dropped: nobody asks for its content, and time tells the keys that are over."""
    key = {name.lower() for name in table.key}
    late = any(column.lateness is not None and column.name.lower() in key for column in table.columns)
    return late and table.history.lower() == "none"


def is_late(row: Row | None, lateness: TableLateness) -> bool:
    """True if a stored row is below some waterline."""
    return row is not None and lateness.late(
        {item.place: comparable_value(row[item.place]) for item in lateness.columns}
    )


class Base(Protocol):
    """The part of a store that is not at hand: weighted rows, found by some of their columns."""

    @property
    def is_empty(self) -> bool:
        """True if nothing has been added yet."""

    def probe(self, rows: pa.Table) -> list[tuple[Row, int]]:
        """The stored rows, with their counts, that agree with one of `rows` in the columns they are found by."""

    def append(self, rows: pa.Table) -> None:
        """Add a weighted change of the table, between steps."""

    def propose(self, change: pa.Table | Delta) -> None:
        """Add the weighted change of a step, if it is committed."""

    def commit(self) -> None:
        """The step that was proposed last has happened."""

    def maintain(self) -> None:
        """Between steps: have each different row once, where that is due."""

    def worth_forgetting(self, entries: int, kept: int) -> bool:
        """True if there is twice as much as forgetting has left: here, or `entries` on the driver, then `kept`."""

    def forget(self, lateness: TableLateness) -> None:
        """Drop the rows that are below a waterline."""

    def weighted(self) -> DataFrame | None:
        """Every stored row with its weight; None if there are none."""


class ExecutorRows(Base):
    """The part of a store that is on the executors: weighted rows hashed by some of their columns."""

    def __init__(self, workspace: Workspace, table: Table, by: Sequence[str]) -> None:
        self.workspace = workspace
        self._table = table
        self._by = tuple(by)
        self.trace: Trace | None = None
        self._kept = 0  # rows that forgetting has left
        self._proposed: Delta | None = None

    @property
    def is_empty(self) -> bool:
        return self.trace is None

    def probe(self, rows: pa.Table) -> list[tuple[Row, int]]:
        if self.trace is None or self.trace.frame is None or not rows.num_rows:
            return []
        workspace = self.workspace
        keys = as_frame(workspace, self._table, rows)
        terms = [(quoted(name), keys.schema[name].dataType) for name in self._by]
        wanted = workspace.name(
            workspace.sql(f"SELECT DISTINCT {hash_text(terms)} AS {KEY} FROM {workspace.name(keys)}")
        )
        stored = workspace.name(self.trace.frame)
        names = ", ".join(f"__s.{quoted(column.name)}" for column in self._table.columns)
        semi_join = f"FROM {stored} __s LEFT SEMI JOIN {wanted} __w ON __s.{KEY} = __w.{KEY}"
        query = f"SELECT /*+ BROADCAST(__w) */ {names}, __s.{WEIGHT} {semi_join}"
        return _consolidated(python_rows(declared_rows(workspace.sql(query), self._table)))

    def append(self, rows: pa.Table) -> None:
        self._add(as_delta(self.workspace, self._table, rows))

    def propose(self, change: pa.Table | Delta) -> None:
        self._proposed = as_delta(self.workspace, self._table, change) if isinstance(change, pa.Table) else change

    def commit(self) -> None:
        if self._proposed is not None:
            self._add(self._proposed)
        self._proposed = None

    def maintain(self) -> None:
        """It is a part of each addition."""

    def _add(self, delta: Delta) -> None:
        terms = [(quoted(name), delta.schema[name].dataType) for name in self._by]
        query = f"SELECT *, {hash_text(terms)} AS {KEY} FROM {delta.view}"
        keyed = Delta.of_frame(self.workspace, self.workspace.sql(query), estimate=1 << 40).settled()
        trace = self.trace or Trace(self.workspace, keyed.schema)
        self.trace = trace.appended(keyed).merged()

    def worth_forgetting(self, entries: int, kept: int) -> bool:
        doubled = self.trace is not None and self.trace.rows >= 2 * max(self._kept, HELD_ROWS)
        return doubled or entries >= 2 * max(kept, LEAST_FORGOTTEN_ROWS)

    def forget(self, lateness: TableLateness) -> None:
        condition = staying(lateness)
        if self.trace is None or condition is None:
            return
        combined = replace(self.trace, combine=lambda frame: consolidated(frame).where(condition))
        self.trace = replace(combined.compacted(), combine=None)
        self._kept = self.trace.rows

    def weighted(self) -> DataFrame | None:
        frame = None if self.trace is None else self.trace.frame
        return None if frame is None else frame.drop(KEY)


def _consolidated(rows: Iterable[Row]) -> list[tuple[Row, int]]:
    found: dict[Key, tuple[Row, int]] = {}
    for row in rows:
        key = canonical_row(row[:-1])
        found[key] = (row[:-1], found.get(key, ((), 0))[1] + row[-1])
    return [item for item in found.values() if item[1]]
