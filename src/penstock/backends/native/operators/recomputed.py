"""Queries without a key to go by: recomputed over all rows, and compared with the last answer (A5)."""

from __future__ import annotations

from penstock.backends.native.operators.operator import Changes, NativeOperator
from penstock.backends.native.operators.text import template
from penstock.backends.native.store import Store
from penstock.backends.native.trace import Rows, Trace, listed, spelled, summed
from penstock.catalog.reserved import WEIGHT
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

    def step(self, changes: Changes, *, first: bool) -> Rows | None:
        if not first and not self.wants_step() and not any(rows is not None for rows in changes):
            return None
        inputs = self.traces[:-1]
        for trace, rows in zip(inputs, changes, strict=True):
            if rows is not None:
                trace.append(rows)
        contents = {
            place: f"({spelled(trace.names, '(' + summed(trace.names, trace.table, '> 0') + ')')})"
            for place, trace in enumerate(inputs)
        }
        found = self.made(self._difference(self.template.over(self.names(contents))))
        if found is not None:
            self.answers.append(found)
        return found

    def _difference(self, answer: str) -> str:
        names = self.answers.names
        columns = f"{listed(names)}, " if names else ""
        now = f"SELECT {columns}1::BIGINT AS {WEIGHT} FROM ({answer})"
        before = f"SELECT {columns}-{WEIGHT} AS {WEIGHT} FROM {self.answers.table}"
        return summed(names, f"({now} UNION ALL {before})")
