"""The memory of one table between steps."""

from __future__ import annotations

from dataclasses import dataclass, field

from penstock.catalog.model import Table
from penstock.steps.intake.forgetting import forgets
from penstock.steps.intake.holding import Holding
from penstock.steps.intake.keystore import KeyStore
from penstock.steps.intake.lateness import TableLateness
from penstock.steps.intake.rowcounts import RowCounts


@dataclass
class TableMemory:
    """One table's waterlines, its rows as far as they are needed to judge new ones, and what waits."""

    table: Table
    lateness: TableLateness
    store: KeyStore | None = None
    counts: RowCounts | None = None
    received: int = 0
    holding: Holding = field(default_factory=Holding)

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
