"""Operators that work key by key and keep their answers: Δ = f(rows of the touched keys) − what was answered before.

An answer in floating point depends on the order of adding: what is taken back is what was given, to the last bit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from penstock.backends.api import LineText
from penstock.backends.native.collecting import Collector
from penstock.backends.native.operators.operator import Changes, NativeOperator
from penstock.backends.native.operators.text import template
from penstock.backends.native.operators.touched import Keys
from penstock.backends.native.store import Store
from penstock.backends.native.trace import Rows, Trace, content, difference, spelled, summed
from penstock.backends.portable import Portable
from penstock.circuit.operators import Keyed, Ranked
from penstock.plan.nodes import TopK, Window
from penstock.plan.scalar import Scalar


class AnsweredOperator(NativeOperator):
    """A node over one input whose keys can be read off its answer, by `answer_keys`, as off its input."""

    keeps_answers = True

    def __init__(
        self,
        store: Store,
        operator: Keyed | Ranked,
        keys: tuple[Scalar, ...],
        answer_keys: tuple[Scalar, ...],
        *,
        append_only: bool,
    ) -> None:
        super().__init__(store, operator)
        self._old = store.name()
        self.template = template(operator.node, operator.inputs, self.outputs)
        self.keys = Keys(store, (keys, answer_keys), (self.inputs[0], self.outputs))
        self.collector.check(0, self.inputs[0])
        self.answers = Trace(store, self.outputs)
        self.rows = Trace(store, self.inputs[0], append_only=append_only)
        self.traces = [self.rows, self.answers]
        self._closing = self._closed(keys, answer_keys)
        self._closing.check(0, self.outputs)

    def _closed(self, keys: tuple[Scalar, ...], answer_keys: tuple[Scalar, ...]) -> Collector:
        """The expiries of the answers: those of keys that nothing can touch any more."""
        texts = {one.text: other.text for one, other in zip(keys, answer_keys, strict=True)}
        if isinstance(self.operator.node, TopK | Window):  # which answer with whole rows of the input
            texts |= {item.text: item.text for item in self.operator.expiries}
        found = [item for item in self.operator.expiries if item.text in texts and not item.keep]
        return Collector([replace(item, trace=0, text=texts[item.text]) for item in found])

    def collect(self, lines: LineText | None, *, whole: bool) -> None:
        self.collector.collect(0, self.rows, lines, whole=whole)
        self._closing.collect(0, self.answers, lines, whole=whole)

    def portable(self) -> Portable:
        return Portable((self.rows.fetched(),), self.answers.fetched())

    def hold(self, found: Portable) -> None:
        self.rows.load(found.rows[0])
        self.answers.load(found.answers)

    def step(self, inputs: Changes, *, first: bool) -> Rows | None:
        (rows,) = self.all_met(inputs)
        if rows is None and not first:
            return None
        touched = self.keys.touched([rows, None], self.rows.rows) if rows is not None and self.keys.any else ""
        before = self._before(touched)
        now = self.now(rows, touched)
        found = self.made(difference(self.answers.names, f"({now})", before), distinct=True)
        if found is not None:
            self.answers.append(found)
        return found

    def now(self, rows: Rows | None, touched: str) -> str:
        """The query for the answers of the touched keys, once what has come is remembered."""
        return self.template.over({f"#{self.operator.inputs[0]}": self._known(rows, touched)})

    def _before(self, touched: str) -> str:
        """A relation of what was answered for the touched keys, with weights."""
        self.store.made(self._old, summed(self.answers.names, self._among(1, self.answers, touched), "> 0"))
        return self._old

    def _among(self, side: int, trace: Trace, touched: str) -> str:
        """The rows of a trace that have a touched key; none if there are keys and none is touched."""
        return self._having(self.keys.texts[side], trace.table, touched)

    def _having(self, values: Sequence[str], relation: str, touched: str) -> str:
        """The same of any relation, whose keys are such values."""
        if self.keys.any and not touched:
            return f"(SELECT * FROM {relation} WHERE false)"
        return self.keys.having(values, relation, touched)

    def _known(self, rows: Rows | None, touched: str) -> str:
        """All rows of the touched keys as they are now, each as often as it is there."""
        names = tuple(name for name, _ in self.inputs[0])
        if rows is not None:
            self.rows.append(rows)
        among = self._among(0, self.rows, touched)
        return f"({spelled(names, among)})" if self.rows.append_only else content(names, among)
