"""GROUP BY whose aggregates are partial results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from penstock.backends.native.comparing import key
from penstock.backends.native.kinds import stored
from penstock.backends.native.operators.grouped import GroupedOperator
from penstock.backends.native.operators.partials import decomposed
from penstock.backends.native.operators.text import filled
from penstock.backends.native.proof import quoted
from penstock.backends.native.scalars import proven
from penstock.backends.native.store import Store
from penstock.backends.native.trace import Rows
from penstock.backends.rules.grouped import AdditiveRule
from penstock.catalog.reserved import WEIGHT
from penstock.circuit.operators import Additive
from penstock.circuit.partials import PRESENT
from penstock.plan.nodes import Aggregate


class AdditiveOperator(AdditiveRule[Rows], GroupedOperator):
    """A row for each group with rows; without keys one row always."""

    def __init__(self, store: Store, operator: Additive) -> None:
        super().__init__(store, operator)
        self.node: Aggregate = operator.node  # type: ignore[assignment]
        types = dict(self.inputs[0])
        found = [proven(scalar.form, types) for _, scalar in self.node.groups]
        self.keys = tuple((key(item), item.type) for item in found)
        self._decomposed = decomposed(self.node, types)
        self.partials, self._answers = self._decomposed.partials, self._decomposed.answers
        self._portable = tuple(item.name for item in operator.partials.columns)
        self.prepare()
        values = [f"{text} AS {name}" for name, (text, _) in zip(self.groups, self.keys, strict=True)]
        values += [f"{item.value} AS {quoted(item.name)}" for item in self.contributions]
        self._contributed = f"SELECT {', '.join(values)} FROM "

    def added(self, change: Rows | None, *, first: bool) -> Rows | None:
        return self.advance([] if change is None else [self._contributed + change.name], first=first)

    def outward(self) -> Mapping[str, str]:
        return {name: self._decomposed.outward(name) for name in self._portable}

    def inward(self, names: Sequence[str]) -> Mapping[str, str]:
        return self._decomposed.inward(names)

    def vanished(self) -> str:
        return f"{PRESENT} <= 0" if self.groups else "false"

    def answers(self, before: str, after: str, *, first: bool) -> list[str]:
        was = f"coalesce({before}{PRESENT}, 0) > 0" if self.groups else str(not first).lower()
        now = f"coalesce({after}{PRESENT}, 0) > 0" if self.groups else "true"
        older, newer = self._row(before), self._row(after)
        pairs = zip(older[len(self.groups) :], newer[len(self.groups) :], strict=True)
        changed = " OR ".join(f"({one}) IS DISTINCT FROM ({other})" for one, other in pairs) or "false"
        return [
            self._signed(older, -1, f"{was} AND (NOT ({now}) OR {changed})"),
            self._signed(newer, 1, f"{now} AND (NOT ({was}) OR {changed})"),
        ]

    def _row(self, prefix: str) -> list[str]:
        """The values of an answer, in the types of the output: what becomes equal there has not changed."""
        values = [*self.groups, *(filled(answer, prefix) for answer in self._answers)]
        return [f"CAST({value} AS {stored(kind)})" for value, (_, kind) in zip(values, self.outputs, strict=True)]

    def _signed(self, values: list[str], weight: int, condition: str) -> str:
        named = [f"{value} AS {quoted(name)}" for value, (name, _) in zip(values, self.outputs, strict=True)]
        return f"SELECT {', '.join([*named, f'{weight}::BIGINT AS {WEIGHT}'])} FROM __touched WHERE {condition}"
