"""The rows of a table that lie on the executors: weighted, and hashed by the columns by which they are found."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import pyarrow as pa

from penstock.backends import api
from penstock.backends.api import Earlier, Limits, Stored
from penstock.backends.columns import python_rows
from penstock.backends.rows import Key, Row, canonical_row
from penstock.backends.spark.change import Delta, consolidated, own
from penstock.backends.spark.exchange import as_delta, as_frame, completed, declared_rows
from penstock.backends.spark.grouping import hash_text
from penstock.backends.spark.kept import Kept
from penstock.backends.spark.parameters import as_parameter
from penstock.backends.spark.trace import Trace
from penstock.backends.thresholds import HELD_ROWS, LEAST_FORGOTTEN_ROWS
from penstock.backends.waterlines import typed_literal
from penstock.catalog.model import Table
from penstock.catalog.reserved import KEY, WEIGHT
from penstock.plan.scalar import quoted

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from penstock.backends.spark.workspace import Workspace


class ExecutorRows(Kept, Stored):
    """The part of a store that is on the executors: weighted rows hashed by some of their columns."""

    def __init__(self, workspace: Workspace, table: Table, by: Sequence[str]) -> None:
        super().__init__(workspace)
        self._table = table
        self._by = tuple(by)
        self._kept = 0  # rows that forgetting has left

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
        self.add(as_delta(self.workspace, self._table, rows))

    def propose(self, change: pa.Table | api.Delta) -> None:
        delta = as_delta(self.workspace, self._table, change) if isinstance(change, pa.Table) else own(change)
        self.proposed = self.with_change(delta)

    def take_over(self, other: Stored, earlier: Earlier) -> None:
        rows = other.weighted()
        if rows is not None:
            wide = completed(self._table, rows, earlier)
            self.add(Delta.of_frame(self.workspace, wide, estimate=1 << 40))

    def with_change(self, delta: Delta) -> Trace:
        terms = [(quoted(name), delta.schema[name].dataType) for name in self._by]
        query = f"SELECT *, {hash_text(terms)} AS {KEY} FROM {delta.view}"
        keyed = Delta.of_frame(self.workspace, self.workspace.sql(query), estimate=1 << 40).settled()
        trace = self.trace or Trace(self.workspace, keyed.schema)
        return trace.appended(keyed)

    def worth_forgetting(self, entries: int, kept: int) -> bool:
        doubled = self.trace is not None and self.trace.rows >= 2 * max(self._kept, HELD_ROWS)
        return doubled or entries >= 2 * max(kept, LEAST_FORGOTTEN_ROWS)

    def forget(self, limits: Limits) -> None:
        condition = staying(self._table, limits)
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


def staying(table: Table, limits: Limits) -> str | None:
    """Spark SQL that is true of the rows below no waterline; None before there is one."""
    found = [(table.columns[place], at) for place, at in limits]
    terms = [
        f"coalesce({quoted(column.name)} >= {as_parameter(typed_literal(at, column.type), quoted(column.name))}, true)"
        for column, at in found
        if at is not None
    ]
    return " AND ".join(terms) or None
