"""The memory of a table without a key once rows are deleted from it: how often each row is there.

    newest entries   a dict on the driver, so a small step needs no Spark job to look up what it touches
    base             in DuckDB, or a Trace on the executors, once the dict has outgrown `HELD_ROWS`

A store changes only by `apply` or `commit`, after the step has succeeded.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import pyarrow as pa

from penstock.backends.api import Delta, Relations, Stored
from penstock.backends.columns import arrow_rows, arrow_schema, in_arrow, python_rows, weighted_schema
from penstock.backends.native.interrupts import undivided
from penstock.backends.native.stored import ProcessRows
from penstock.backends.rows import Key, Row
from penstock.backends.thresholds import HELD_ROWS, MANY_ROWS
from penstock.catalog.model import Table
from penstock.catalog.reserved import WEIGHT
from penstock.errors import DataError, Diagnostic
from penstock.steps.intake.bases import move_base
from penstock.steps.intake.earliest import found_by
from penstock.steps.intake.forgetting import is_late
from penstock.steps.intake.lateness import TableLateness
from penstock.steps.rows.identity import identity_of, unordered

if TYPE_CHECKING:
    from penstock.backends.native.store import Store
    from penstock.steps.rows.added import Added


class RowCounts:
    """The count of each row of a table without a key; made when the first deletion asks.

    Its base lies in `process` if that is given.
    """

    def __init__(self, relations: Relations, table: Table, process: Store | None = None) -> None:
        self._relations = relations
        self._table = table
        self._identity = identity_of(table)
        names = found_by(table)
        self.process = None if process is None else ProcessRows(process, relations, table, names)
        self._base: Stored = self.process or relations.stored(table, names)
        self._newest: dict[Key, tuple[Row, int]] = {}
        self._kept = 0  # entries on the driver that forgetting has left

    def widened(self, table: Table, process: Store | None, added: Added) -> RowCounts:
        """The counts of the same table with more columns; these stay as they are."""
        found = RowCounts(self._relations, table, process)
        found._base.take_over(self._base, added)
        wide = added.completing(self._table, table)
        rows = [(wide(row), count) for row, count in self._newest.values()]
        found._newest = {found._identity(row): (row, count) for row, count in rows}
        found._kept = self._kept
        return found

    def moved(self, process: Store | None) -> RowCounts:
        """The same counts, those of the base where they belong now; there are none of it left here."""
        if (process is None) == (self.process is None):
            return self
        found = RowCounts(self._relations, self._table, process)
        move_base(self._relations, self._table, self._base, found._base)
        found._newest, found._kept = self._newest, self._kept
        return found

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
        return [] if self._base.is_empty else self._base.probe(arrow_rows(arrow_schema(self._table.columns), rows))

    def there(self, rows: Sequence[Row]) -> list[tuple[Row, int]]:
        """The rows that are there and equal one of `rows` in the columns by which rows are found, with their counts."""
        found: dict[Key, tuple[Row, int]] = {}
        for row, count in [*self._probed(rows), *self._newest.values()]:
            key = self._identity(row)
            found[key] = (row, count + (found[key][1] if key in found else 0))
        return [(row, count) for row, count in found.values() if count > 0]

    def alike(self, rows: Sequence[Row]) -> list[tuple[Row, int]]:
        """The stored rows, with their counts, that equal one of `rows` in any order of a MAP's entries.

        It goes through all that is on the driver: a deletion seldom comes in an order of its own.
        """
        wanted = {unordered(row) for row in rows}
        near = [*self._probed(rows), *self._newest.values()]
        return [(row, count) for row, count in near if unordered(row) in wanted]

    def apply(self, changes: Iterable[tuple[Row, int]]) -> None:
        """Take over rows and weights that no step brings."""
        self._count(changes)
        if self.process is None and len(self._newest) > HELD_ROWS:
            self.flush()

    def _count(self, changes: Iterable[tuple[Row, int]]) -> None:
        for row, weight in changes:
            key = self._identity(row)
            total = weight + (self._newest[key][1] if key in self._newest else 0)
            if total:
                self._newest[key] = (row, total)
            else:
                self._newest.pop(key, None)

    def maintain(self) -> None:
        """Between steps: move to the process what has become much, which may fail."""
        if len(self._newest) > HELD_ROWS:
            self.flush()
        self._base.maintain()

    def forget(self, lateness: TableLateness) -> None:
        """Drop rows that are below a waterline: a deletion of one is late before anybody asks whether it is there."""
        if not self._base.worth_forgetting(len(self._newest), self._kept):
            return
        # Both parts at once: one may hold what takes back a row of the other.
        self._newest = {key: item for key, item in self._newest.items() if not is_late(item[0], lateness)}
        self._kept = len(self._newest)
        self._base.forget(lateness.limits)

    def propose(self, change: pa.Table | Delta) -> None:
        """Have a change that goes to the base be there, if its step is committed."""
        if self._goes_to_base(change):
            self._base.propose(change)

    def commit(self, change: pa.Table | Delta) -> None:
        """Take over the change of a step, which was proposed; what has become much moves between steps."""
        if not isinstance(change, pa.Table) or self._goes_to_base(change):
            self._base.commit()
        else:
            self._count((row[:-1], row[-1]) for row in python_rows(change))

    def _goes_to_base(self, change: pa.Table | Delta) -> bool:
        return not isinstance(change, pa.Table) or (self.process is not None and change.num_rows >= MANY_ROWS)

    def missing(self, rows: pa.Table, deletes: pa.Array) -> int | None:
        """The place of the first row whose deletion, its last in these rows, finds it not there often enough.

        Only where the base lies in the process.
        """
        assert self.process is not None  # noqa: S101 - whoever asks has looked
        self.flush()
        return self.process.missing(rows, deletes)

    def check_frame(self, delta: Delta) -> None:
        """Raise DataError if a change on the executors deletes a row more often than it is there."""
        self.flush()
        before = self._base.weighted()
        negative = self._relations.negative(*(() if before is None else (before,)), delta.frame())
        if negative is not None:
            message = f"table {self._table.name}: a row to delete is not there: {negative}"
            raise DataError(Diagnostic("ROW_NOT_FOUND", message))

    def load(self, delta: Delta) -> None:
        """Take over the whole content, consolidated, as the first that is known."""
        if delta.on_driver:
            self.apply((row[:-1], row[-1]) for row in python_rows(in_arrow(self._table, delta.arrow())))
        else:
            self._base.propose(delta)
            self._base.commit()

    def take(self, rows: pa.Table) -> None:
        """Take over weighted rows as the log has them, which may be few."""
        known = rows.select([*(column.name for column in self._table.columns), WEIGHT])
        self.apply((row[:-1], row[-1]) for row in python_rows(in_arrow(self._table, known)))

    @property
    def can_flush(self) -> bool:
        """True if the newest entries may be moved now: in the process not while the engine is at work on a step."""
        return not self._newest or self.process is None or not self.process.store.in_step

    def flush(self) -> None:
        """Move the newest entries to the base."""
        rows = [(*row, count) for row, count in self._newest.values()]
        if not rows:
            return
        with undivided():  # else they might be in both
            self._base.append(arrow_rows(weighted_schema(self._table.columns), rows))
            self._newest = {}
