"""Queries without a key to go by: recomputed over all rows, and compared with the last answer (A5)."""

from __future__ import annotations

from penstock.backends.native.operators.operator import Changes, NativeOperator
from penstock.backends.native.operators.text import template
from penstock.backends.native.store import Store
from penstock.backends.native.trace import Rows, Trace, content, difference
from penstock.backends.portable import Portable
from penstock.circuit.operators import Recomputed


class RecomputedOperator(NativeOperator):
    """All inputs are kept, and the last answer."""

    def __init__(self, store: Store, operator: Recomputed) -> None:
        super().__init__(store, operator)
        self.uses_clock = operator.uses_clock
        self.template = template(operator.node, operator.inputs, self.outputs)
        self.answers = Trace(store, self.outputs)
        self.traces = [*(Trace(store, columns) for columns in self.inputs), self.answers]

    def wants_step(self) -> bool:
        return self.uses_clock and self.store.clock_has_moved

    def portable(self) -> Portable:
        return Portable(tuple(trace.fetched() for trace in self.traces[:-1]), self.answers.fetched())

    def hold(self, found: Portable) -> None:
        for trace, rows in zip(self.traces, (*found.rows, found.answers), strict=True):
            trace.load(rows)

    def step(self, inputs: Changes, *, first: bool) -> Rows | None:
        if not first and not self.wants_step() and not any(rows is not None for rows in inputs):
            return None
        kept = self.traces[:-1]
        for trace, rows in zip(kept, inputs, strict=True):
            if rows is not None:
                trace.append(rows)
        contents = {place: content(trace.names, trace.table) for place, trace in enumerate(kept)}
        answer = self.template.over(self.names(contents))
        found = self.made(difference(self.answers.names, f"({answer})", self.answers.table))
        if found is not None:
            self.answers.append(found)
        return found
