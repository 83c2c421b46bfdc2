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

    computes_answers = True

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
        """The answer before, taken back, and the one after, each computed once, where they are not the same."""
        was = f"coalesce({before}{PRESENT}, 0) > 0" if self.groups else str(not first).lower()
        now = f"coalesce({after}{PRESENT}, 0) > 0" if self.groups else "true"
        older, newer = self._computed(before), self._computed(after)
        items = [f"{text} AS __b{place}" for place, text in enumerate(older)]
        items += [f"{text} AS __n{place}" for place, text in enumerate(newer)]
        computed = ", ".join([*self.groups, f"{was} AS __was", f"{now} AS __now", *items])
        changed = [f"__b{place} IS DISTINCT FROM __n{place}" for place in range(len(older))]
        both = f"SELECT *, unnest([-1, 1])::BIGINT AS {WEIGHT} FROM (SELECT {computed} FROM __touched)"
        differ = " OR ".join(["NOT (__was AND __now)", *changed])
        shown = f"CASE WHEN {WEIGHT} < 0 THEN __was ELSE __now END AND ({differ})"
        columns = [
            *(f"CAST({group} AS {stored(kind)})" for group, (_, kind) in zip(self.groups, self.outputs, strict=False)),
            *(f"CASE WHEN {WEIGHT} < 0 THEN __b{place} ELSE __n{place} END" for place in range(len(older))),
        ]
        named = [f"{text} AS {quoted(name)}" for text, (name, _) in zip(columns, self.outputs, strict=True)]
        return [f"SELECT {', '.join([*named, WEIGHT])} FROM ({both}) WHERE {shown}"]

    def _computed(self, prefix: str) -> list[str]:
        """The values of an answer in the types of the output: what is equal there has not changed.

        They are computed for a group without rows, too, and not shown: its counts are zero, as no step takes back a row
        that is not there, and of nothing no answer fails.
        """
        kinds = (stored(kind) for _, kind in self.outputs[len(self.groups) :])
        return [f"CAST({filled(answer, prefix)} AS {kind})" for answer, kind in zip(self._answers, kinds, strict=True)]
