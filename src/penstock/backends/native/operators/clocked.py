"""Filters and projections that read the clock: when it has moved, what they say of the remembered rows has too."""

from __future__ import annotations

from penstock.backends.native.operators.linear import LinearChain
from penstock.backends.native.operators.operator import Changes
from penstock.backends.native.store import CLOCK, CLOCK_BEFORE, Store
from penstock.backends.native.trace import Rows, Trace, added_up, negated
from penstock.backends.rules.linear import ClockedRule
from penstock.circuit.operators import Clocked


class ClockedOperator(ClockedRule[Rows], LinearChain):
    """The chain over the change, and over all that is remembered, as it is now less as it was."""

    def __init__(self, store: Store, operator: Clocked) -> None:
        super().__init__(store, operator)
        self.traces = [Trace(store, columns) for columns in self.inputs]

    def step(self, inputs: Changes, *, first: bool) -> Rows | None:
        return super().step(self.all_met(inputs), first=first)  # the chain reads them, and so does what is remembered

    def clock_has_moved(self) -> bool:
        return self.store.clock_has_moved

    def remembers_any(self) -> bool:
        return not all(trace.is_empty for trace in self.traces)

    def unmoved(self, changes: Changes) -> Rows | None:
        parts = self._of_changes(changes)
        return self.made(added_up(self._names, parts), distinct=True) if parts else None

    def moved(self, changes: Changes) -> Rows | None:
        now = self.over([trace.table for trace in self.traces])
        then = negated(self._names, f"({_before(now)})")
        return self.made(added_up(self._names, [*self._of_changes(changes), now, then]), distinct=True)

    @property
    def _names(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self.outputs)

    def _of_changes(self, changes: Changes) -> list[str]:
        return [self.over_changes(changes)] if any(rows is not None for rows in changes) else []


def _before(query: str) -> str:
    """The query as of the clock before."""
    return query.replace(f"'{CLOCK}'", f"'{CLOCK_BEFORE}'")
