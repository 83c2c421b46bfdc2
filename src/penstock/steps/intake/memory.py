"""The memory of one table between steps."""

from __future__ import annotations

from dataclasses import dataclass, field

from penstock.catalog.model import Table
from penstock.steps.intake.base import forgets
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

    def forget(self) -> None:
        """Drop rows that no operation can reach: it would be late itself."""
        if self.counts is not None:
            self.counts.forget(self.lateness)
        if self.store is not None and forgets(self.table):
            self.store.forget(self.lateness.within(self.table.key))
