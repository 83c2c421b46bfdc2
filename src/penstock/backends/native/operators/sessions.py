"""SESSION in DuckDB: the touched sessions are found by a semi-join over the times of the change."""

from __future__ import annotations

from dataclasses import replace

from penstock.backends.native.comparing import key
from penstock.backends.native.operators.operator import NativeOperator
from penstock.backends.native.operators.text import Template, template
from penstock.backends.native.proof import quoted
from penstock.backends.native.scalars import proven
from penstock.backends.native.store import Store
from penstock.backends.native.trace import Columns, Rows, Trace, added_up, negated, summed, weighing
from penstock.backends.portable import Portable
from penstock.backends.rules.sessions import SessionsRule
from penstock.catalog.reserved import WEIGHT
from penstock.circuit.operators import Sessions
from penstock.plan.forms import Call
from penstock.plan.nodes import Field, Scan, Session


class SessionsOperator(SessionsRule[Rows], NativeOperator):
    """All rows are kept beside the sessions that they are in, which is the answer that they were given."""

    def __init__(self, store: Store, operator: Sessions) -> None:
        super().__init__(store, operator)
        node: Session = operator.node  # type: ignore[assignment]
        types = dict(self.inputs[0])
        self._template = _weighted(node, operator.inputs[0], self.outputs)
        self._old = store.name()
        self.collector.check(0, self.outputs)
        self.traces = [Trace(store, self.outputs)]
        self._keys = [key(proven(scalar.form, types)) for scalar in node.keys]
        self._time = proven(node.time.form, types).text
        self._from = proven(Call("-", (node.time.form, node.gap.form)), types).text
        self._until = proven(Call("+", (node.time.form, node.gap.form)), types).text
        self._start, self._end = quoted(node.start), quoted(node.end)

    def portable(self) -> Portable:
        return Portable(answers=self.traces[0].fetched())

    def hold(self, found: Portable) -> None:
        self.traces[0].load(found.answers)

    def moved(self, change: Rows) -> Rows | None:
        self.store.made(before := self._old, self._next_to(change))
        names = tuple(name for name, _ in self.inputs[0])
        columns = weighing(names)
        together = f"(SELECT {columns} FROM {before} UNION ALL SELECT {columns} FROM {change.name})"
        answer = self._template.over({f"#{self.operator.inputs[0]}": f"({summed(names, together, '> 0')})"})
        rows_then, of_answer = self.traces[0].names, weighing(self.traces[0].names)
        parts = [f"SELECT {of_answer} FROM ({answer})", negated(rows_then, before)]
        return self.made(added_up(rows_then, parts), distinct=True)

    def _next_to(self, rows: Rows) -> str:
        """The rows of the sessions that a change may move, each once with its weight.

        A session ends a gap behind its last row: what lies less than a gap before its first, or not behind its end.
        """
        spans = [f"{text} AS __touched{place}" for place, text in enumerate(self._keys)]
        spans += [f"{self._from} AS __from", f"{self._time} AS __time", f"{self._until} AS __until"]
        change = f"(SELECT DISTINCT {', '.join(spans)} FROM {rows.name})"
        keys = [f"({text}) IS NOT DISTINCT FROM __t.__touched{place}" for place, text in enumerate(self._keys)]
        on = " AND ".join([*keys, f"{self._start} <= __t.__until", f"{self._end} >= __t.__time"])
        return summed(
            self.traces[0].names,
            f"(SELECT __r.* FROM {self.traces[0].table} __r SEMI JOIN {change} __t ON {on})",
            "> 0",
        )


def _weighted(node: Session, number: int, outputs: Columns) -> Template:
    """The sessions of rows that stand once each, with their weight: many may have one time, and are in one session."""
    assert isinstance(node.input, Scan)  # noqa: S101 - an operator reads relations alone
    rows = replace(node.input, outputs=(*node.input.outputs, Field(WEIGHT, "bigint", nullable=False)))
    return template(replace(node, input=rows), (number,), (*outputs, (WEIGHT, "bigint")))
