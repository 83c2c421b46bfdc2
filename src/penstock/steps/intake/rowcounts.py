"""The memory of a table without a key once rows are deleted from it: how often each row is there.

    newest entries   a dict on the driver, so a small step needs no Spark job to look up what it touches
    base             a Trace on the executors, once the dict has outgrown `HELD_ROWS`

A store changes only by `apply`, after the step has succeeded.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from penstock.backends.spark.change import consolidated
from penstock.backends.thresholds import HELD_ROWS
from penstock.catalog.model import Table
from penstock.catalog.reserved import WEIGHT
from penstock.errors import DataError, Diagnostic
from penstock.steps.intake.base import Base, is_late
from penstock.steps.intake.lateness import TableLateness
from penstock.steps.rows.columns import arrow_rows, arrow_schema, python_rows, weighted_schema
from penstock.steps.rows.exchange import as_delta, in_arrow
from penstock.steps.rows.identity import Key, Row, identity_of, unordered

if TYPE_CHECKING:
    from penstock.backends.spark.change import Delta
    from penstock.backends.spark.workspace import Workspace


class RowCounts:
    """The count of each row of a table without a key; made when the first deletion asks."""

    def __init__(self, workspace: Workspace, table: Table) -> None:
        self._table = table
        self._identity = identity_of(table)
        self._base = Base(workspace, table, [column.name for column in table.columns])
        self._newest: dict[Key, tuple[Row, int]] = {}
        self._kept = 0  # entries on the driver that forgetting has left

    def counts(self, rows: Sequence[Row]) -> dict[Key, int]:
        """For each of the rows how often it is there."""
        found: dict[Key, int] = {}
        for row, count in self._probed(rows):
            key = self._identity(row)
            found[key] = found.get(key, 0) + count
        return {
            key: found.get(key, 0) + (self._newest[key][1] if key in self._newest else 0)
            for key in map(self._identity, rows)
        }

    def _probed(self, rows: Sequence[Row]) -> list[tuple[Row, int]]:
        return self._base.probe(arrow_rows(arrow_schema(self._table.columns), rows)) if self._base.trace else []

    def alike(self, rows: Sequence[Row]) -> list[tuple[Row, int]]:
        """The stored rows, with their counts, that equal one of `rows` in any order of a MAP's entries.

        It goes through all that is on the driver: a deletion seldom comes in an order of its own.
        """
        wanted = {unordered(row) for row in rows}
        near = [*self._probed(rows), *self._newest.values()]
        return [(row, count) for row, count in near if unordered(row) in wanted]

    def apply(self, changes: Iterable[tuple[Row, int]]) -> None:
        """Take over what a step did: rows and weights."""
        for row, weight in changes:
            key = self._identity(row)
            total = weight + (self._newest[key][1] if key in self._newest else 0)
            if total:
                self._newest[key] = (row, total)
            else:
                self._newest.pop(key, None)
        if len(self._newest) > HELD_ROWS:
            self._flush()

    def forget(self, lateness: TableLateness) -> None:
        """Drop rows that are below a waterline: a deletion of one is late before anybody asks whether it is there."""
        if not self._base.worth_forgetting(len(self._newest), self._kept):
            return
        # Both parts at once: one may hold what takes back a row of the other.
        self._newest = {key: item for key, item in self._newest.items() if not is_late(item[0], lateness)}
        self._kept = len(self._newest)
        self._base.forget(lateness)

    def apply_frame(self, delta: Delta) -> None:
        """Take over a change that is large or stays on the executors."""
        self._base.append(delta)

    def check_frame(self, delta: Delta) -> None:
        """Raise DataError if a change on the executors deletes a row more often than it is there."""
        self._flush()
        before = self._base.weighted()
        after = delta.frame() if before is None else before.union(delta.frame())
        negative = consolidated(after).where(f"{WEIGHT} < 0").limit(1).toArrow().to_pylist()
        if negative:
            message = f"table {self._table.name}: a row to delete is not there: {negative[0]}"
            raise DataError(Diagnostic("ROW_NOT_FOUND", message))

    def load(self, delta: Delta) -> None:
        """Take over the whole content, consolidated, as the first that is known."""
        if delta.on_driver:
            self.apply((row[:-1], row[-1]) for row in python_rows(in_arrow(self._table, delta.arrow())))
        else:
            self._base.append(delta)

    def _flush(self) -> None:
        rows = [(*row, count) for row, count in self._newest.values()]
        if not rows:
            return
        self._base.append(
            as_delta(self._base.workspace, self._table, arrow_rows(weighted_schema(self._table.columns), rows))
        )
        self._newest = {}
