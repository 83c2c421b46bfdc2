"""Filters and projections that read the clock: when it has moved, what they say of the remembered rows has too."""

from __future__ import annotations

from penstock.backends.native.operators.linear import LinearOperator
from penstock.backends.native.operators.operator import Changes
from penstock.backends.native.store import CLOCK, CLOCK_BEFORE, Store
from penstock.backends.native.trace import Rows, Trace, added_up, negated
from penstock.circuit.operators import Clocked


class ClockedOperator(LinearOperator):
    """The chain over the change, and over all that is remembered, as it is now less as it was."""

    def __init__(self, store: Store, operator: Clocked) -> None:
        super().__init__(store, operator)
        self.traces = [Trace(store, columns) for columns in self.inputs]

    def wants_step(self) -> bool:
        return self.store.clock_has_moved and any(trace.rows for trace in self.traces)

    def step(self, inputs: Changes, *, first: bool) -> Rows | None:
        del first
        parts, names = [], tuple(name for name, _ in self.outputs)
        if any(rows is not None for rows in inputs):
            parts.append(self.applied([None if rows is None else rows.name for rows in inputs]))
        if self.wants_step():
            now = self.applied([trace.table for trace in self.traces])
            parts += [now, negated(names, f"({_before(now)})")]
        found = self.made(added_up(names, parts)) if parts else None
        for trace, rows in zip(self.traces, inputs, strict=True):
            if rows is not None:
                trace.append(rows)
        return found


def _before(query: str) -> str:
    """The query as of the clock before."""
    return query.replace(f"'{CLOCK}'", f"'{CLOCK_BEFORE}'")
