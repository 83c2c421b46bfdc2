"""Queries without a key to go by, in DuckDB."""

from __future__ import annotations

from penstock.backends.native.operators.operator import NativeOperator
from penstock.backends.native.operators.text import template
from penstock.backends.native.store import Store
from penstock.backends.native.trace import Rows, Trace, content, difference
from penstock.backends.portable import Portable
from penstock.backends.rules.recomputed import RecomputedRule
from penstock.circuit.operators import Recomputed


class RecomputedOperator(RecomputedRule[Rows], NativeOperator):
    """All inputs are kept, and the last answer."""

    def __init__(self, store: Store, operator: Recomputed) -> None:
        super().__init__(store, operator)
        self._uses_clock = operator.uses_clock
        self.template = template(operator.node, operator.inputs, self.outputs)
        self.answers = Trace(store, self.outputs)
        self.traces = [*(Trace(store, columns) for columns in self.inputs), self.answers]

    @property
    def reads_clock(self) -> bool:
        return self._uses_clock

    def clock_has_moved(self) -> bool:
        return self.store.clock_has_moved

    def portable(self) -> Portable:
        return Portable(tuple(trace.fetched() for trace in self.traces[:-1]), self.answers.fetched())

    def hold(self, found: Portable) -> None:
        for trace, rows in zip(self.traces, (*found.rows, found.answers), strict=True):
            trace.load(rows)

    def answered(self) -> Rows | None:
        contents = {place: content(trace.names, trace.table) for place, trace in enumerate(self.traces[:-1])}
        answer = self.template.over(self.names(contents))
        found = self.made(difference(self.answers.names, f"({answer})", self.answers.table), distinct=True)
        if found is not None:
            self.answers.append(found)
        return found
