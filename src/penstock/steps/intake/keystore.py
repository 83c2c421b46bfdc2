"""The memory by which the input of a table with a key is judged: the row of each key.

    newest entries   a dict on the driver, so a small step needs no Spark job to look up what it touches
    base             in DuckDB, or a Trace on the executors, once the dict has outgrown `HELD_ROWS`

A store changes only by `apply` or `commit`, after the step has succeeded.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from penstock.backends.api import Delta, Relation, Relations, Stored
from penstock.backends.columns import arrow_rows, arrow_schema, weighted_schema
from penstock.backends.native.interrupts import undivided
from penstock.backends.native.proof import not_proven
from penstock.backends.native.stored import ProcessRows
from penstock.backends.rows import Key, Row, canonical
from penstock.backends.thresholds import HELD_ROWS
from penstock.catalog.model import Table
from penstock.steps.intake.bases import move_base
from penstock.steps.intake.forgetting import is_late
from penstock.steps.intake.lateness import TableLateness

if TYPE_CHECKING:
    from penstock.backends.native.store import Store
    from penstock.steps.rows.added import Added


class KeyStore:
    """The row of each key of a table with a primary key; its base lies in `process` if that is given."""

    def __init__(self, relations: Relations, table: Table, process: Store | None = None) -> None:
        self._relations = relations
        self.table = table
        names = [column.name.lower() for column in table.columns]
        self._places = [names.index(name.lower()) for name in table.key]
        self.process = None if process is None else ProcessRows(process, relations, table, table.key)
        self._base: Stored = self.process or relations.stored(table, table.key)
        # key -> the row in the base, the row now
        self._newest: dict[Key, tuple[Row | None, Row | None]] = {}
        self._kept = 0  # entries on the driver that forgetting has left

    def key(self, row: Sequence[Any]) -> Key:
        """The hashable key of a row."""
        return tuple(canonical(row[place]) for place in self._places)

    def widened(self, table: Table, process: Store | None, added: Added) -> KeyStore:
        """The rows of the same table with more columns; these stay as they are."""
        found = KeyStore(self._relations, table, process)
        found._base.take_over(self._base, added)
        wide = added.completing(self.table, table)
        found._newest = {
            key: (None if base is None else wide(base), None if now is None else wide(now))
            for key, (base, now) in self._newest.items()
        }
        found._kept = self._kept
        return found

    def moved(self, process: Store | None) -> KeyStore:
        """The same rows, those of the base where they belong now; there are none of it left here."""
        if (process is None) == (self.process is None):
            return self
        found = KeyStore(self._relations, self.table, process)
        move_base(self._relations, self.table, self._base, found._base)
        found._newest, found._kept = self._newest, self._kept
        return found

    def lookup(self, keys: Mapping[Key, Row]) -> dict[Key, Row]:
        """The stored rows of these keys; each key comes with a row that has it."""
        found = {key: self._newest[key][1] for key in keys if key in self._newest}
        missing = [row for key, row in keys.items() if key not in found]
        if missing and not self._base.is_empty:
            rows = arrow_rows(arrow_schema(self.table.columns), missing)
            found |= {self.key(row): row for row, count in self._base.probe(rows) if count > 0}
        return {key: row for key, row in found.items() if row is not None}

    def apply(self, changes: Mapping[Key, tuple[Row | None, Row | None]]) -> None:
        """Take over what a step did: for each key the row before it and after it. What is much moves between steps."""
        for key, (before, after) in changes.items():
            base = self._newest[key][0] if key in self._newest else None if self._base.is_empty else before
            if base is None and after is None:
                self._newest.pop(key, None)
            else:
                self._newest[key] = (base, after)

    def propose(self, change: pa.Table | Delta) -> None:
        """Have a change that is large be there, if its step is committed; `flush` comes before."""
        self._base.propose(change)

    def commit(self) -> None:
        """Take over the change that was proposed: its step has happened."""
        self._base.commit()

    def maintain(self) -> None:
        """Between steps: move to the process what has become much, which may fail."""
        if len(self._newest) > HELD_ROWS:
            self.flush()
        self._base.maintain()

    def forget(self, lateness: TableLateness) -> None:
        """Drop keys that are below a waterline: an operation on one is late before anybody asks for its row."""
        if not self._base.worth_forgetting(len(self._newest), self._kept):
            return
        # Both parts at once: one may hold what takes back a row of the other.
        self._newest = {key: rows for key, rows in self._newest.items() if not is_late(rows[1] or rows[0], lateness)}
        self._kept = len(self._newest)
        self._base.forget(lateness.limits)

    @property
    def can_flush(self) -> bool:
        """True if the newest entries may be moved now: in the process not while the engine is at work on a step."""
        return not self._newest or self.process is None or not self.process.store.in_step

    def flush(self) -> None:
        """Move the newest entries to the base."""
        rows = self._unflushed()
        with undivided():  # else they might be in both
            if rows:
                self._base.append(arrow_rows(weighted_schema(self.table.columns), rows))
            self._newest = {}

    def _unflushed(self) -> list[Row]:
        pairs = self._newest.values()
        gone = [(*base, -1) for base, now in pairs if base is not None]
        return gone + [(*now, 1) for _, now in pairs if now is not None]

    def content(self) -> Relation:
        """Every row of the table."""
        base, relations = self._base.weighted(), self._relations
        if base is None:
            rows = [now for _, now in self._newest.values() if now is not None]
            return relations.relation_of(self.table, arrow_rows(arrow_schema(self.table.columns), rows))
        newest = relations.relation_of(self.table, arrow_rows(weighted_schema(self.table.columns), self._unflushed()))
        return relations.repeated(base, newest)

    def arrow(self) -> pa.Table:
        """Every row of the table, with weights that may still cancel; NotProvenError if some lie on the executors."""
        newest = arrow_rows(weighted_schema(self.table.columns), self._unflushed())
        if self.process is not None:
            return pa.concat_tables([self.process.arrow(), newest])
        if not self._base.is_empty:
            not_proven(f"the rows of {self.table.name}, which lie on Spark")
        return newest

    @property
    def count(self) -> int:
        """The number of rows that `arrow` has."""
        newest = sum((base is not None) + (now is not None) for base, now in self._newest.values())
        return newest + (0 if self.process is None else self.process.count)

    def base_frame(self) -> Relation | None:
        """The stored rows with their weights, after `flush`."""
        self.flush()
        return self._base.weighted()
