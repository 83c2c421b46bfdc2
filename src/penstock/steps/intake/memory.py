"""The memory of one table between steps."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from penstock.catalog.model import Table
from penstock.steps.intake.forgetting import forgets
from penstock.steps.intake.holding import Holding, declared_holding
from penstock.steps.intake.keystore import KeyStore
from penstock.steps.intake.lateness import TableLateness, declared_lateness
from penstock.steps.intake.rowcounts import RowCounts

if TYPE_CHECKING:
    from penstock.backends.native.store import Store
    from penstock.steps.rows.added import Added


@dataclass
class TableMemory:
    """One table's waterlines, its rows as far as they are needed to judge new ones, and what waits."""

    table: Table
    lateness: TableLateness
    store: KeyStore | None = None
    counts: RowCounts | None = None
    received: int = 0
    holding: Holding = field(default_factory=Holding)

    def widened(self, table: Table, process: Store | None, added: Added) -> TableMemory:
        """The memory of the same table with more columns; this one stays as it is."""
        lateness, holding, waiting = self.lateness, self.holding, self.holding.waiting
        wide = None if waiting is None else added.completed(table, waiting)
        found = TableMemory(
            table,
            replace(declared_lateness(table), waterlines=lateness.waterlines, partitions=lateness.partitions),
            received=self.received,
            holding=replace(declared_holding(table), seen=holding.seen, waiting=wide),
        )
        try:
            found.store = None if self.store is None else self.store.widened(table, process, added)
            found.counts = None if self.counts is None else self.counts.widened(table, process, added)
        except BaseException:
            found.drop()
            raise
        return found

    def move(self, process: Store | None) -> None:
        """Have the rows that are not at hand lie in the process, or on the executors."""
        self.store = None if self.store is None else self.store.moved(process)
        self.counts = None if self.counts is None else self.counts.moved(process)

    def drop(self) -> None:
        """Give back what lies in the process."""
        for part in (self.store, self.counts):
            if part is not None and part.process is not None:
                part.process.drop()

    def maintain(self) -> None:
        """Between steps: have rows lie where they should; drop those that no operation reaches that is not late."""
        if self.counts is not None:
            self.counts.maintain()
            self.counts.forget(self.lateness)
        if self.store is not None:
            self.store.maintain()
            if forgets(self.table):
                self.store.forget(self.lateness.within(self.table.key))
