"""DISTINCT, INTERSECT and EXCEPT: a row's weight in the output follows from how often it is in the inputs."""

from __future__ import annotations

from penstock.backends.native.comparing import key
from penstock.backends.native.operators.grouped import GroupedOperator, Partial
from penstock.backends.native.operators.operator import Changes
from penstock.backends.native.proof import NotProvenError, Proven, quoted
from penstock.backends.native.store import Store
from penstock.backends.native.trace import Rows
from penstock.backends.rules.grouped import CountedRule, multiplicity
from penstock.catalog.reserved import WEIGHT
from penstock.circuit.operators import Counted
from penstock.plan.nodes import Distinct, SetOperation


class CountedOperator(CountedRule[Rows], GroupedOperator):
    """The state has each different row, with how often it is in each input."""

    def __init__(self, store: Store, operator: Counted) -> None:
        super().__init__(store, operator)
        self.node: Distinct | SetOperation = operator.node  # type: ignore[assignment]
        kinds = [[kind for _, kind in columns] for columns in (*self.inputs, self.outputs)]
        if any(kind != kinds[0] for kind in kinds):
            raise NotProvenError(what="sides whose columns have other types")
        self.keys = tuple((key(Proven(quoted(name), kind)), kind) for name, kind in self.outputs)
        self.partials = tuple(Partial(f"__c{side}", "BIGINT", WEIGHT) for side in range(len(self.inputs)))
        self.prepare()

    def counted(self, sides: Changes) -> Rows | None:
        contributed = [self._side(rows, side) for side, rows in enumerate(sides) if rows is not None]
        return self.advance(contributed, first=False)

    def _side(self, rows: Rows, position: int) -> str:
        columns = [
            f"{key(Proven(quoted(name), kind))} AS {group}"
            for group, (name, kind) in zip(self.groups, self.inputs[position], strict=True)
        ]
        counts = [
            f"{WEIGHT if side == position else '0::BIGINT'} AS {item.name}" for side, item in enumerate(self.partials)
        ]
        return f"SELECT {', '.join([*columns, *counts])} FROM {rows.name}"

    def vanished(self) -> str:
        return " AND ".join(f"{item.name} = 0" for item in self.partials)

    def answers(self, before: str, after: str, *, first: bool) -> list[str]:
        del first
        change = f"({self._weight(after)} - {self._weight(before)})::BIGINT"
        named = [f"{group} AS {quoted(name)}" for group, (name, _) in zip(self.groups, self.outputs, strict=True)]
        rows = f"SELECT {', '.join([*named, f'{change} AS {WEIGHT}'])} FROM __touched"
        return [f"SELECT * FROM ({rows}) WHERE {WEIGHT} <> 0"]

    def _weight(self, prefix: str) -> str:
        counts = [f"coalesce({prefix}{item.name}, 0)" for item in self.partials]
        return multiplicity(self.node, counts)
