"""GROUP BY with partial results."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.backends.rules.grouped import AdditiveRule
from penstock.backends.spark.change import Delta
from penstock.backends.spark.grouping import hash_text, holds_variant
from penstock.backends.spark.operators.grouped import GroupedRunner
from penstock.backends.spark.operators.join import expression_type
from penstock.backends.spark.operators.runner import Terms
from penstock.backends.spark.workspace import Workspace
from penstock.catalog.reserved import KEY, WEIGHT
from penstock.circuit.operators import Additive
from penstock.circuit.partials import PRESENT
from penstock.plan.nodes import Aggregate
from penstock.plan.scalar import quoted

if TYPE_CHECKING:
    from pyspark.sql.types import StructType


class AdditiveRunner(AdditiveRule[Delta], GroupedRunner):
    """GROUP BY whose aggregates are partial results."""

    def __init__(self, workspace: Workspace, operator: Additive, schema: StructType) -> None:
        super().__init__(workspace)
        self.operator = operator
        self.node: Aggregate = operator.node  # type: ignore[assignment]
        self.schema = schema
        self.groups = tuple(f"__g{position}" for position in range(len(self.node.groups)))
        self.partials = operator.partials.columns
        self.first = True
        self.terms: Terms = [
            (scalar.text, expression_type(workspace, scalar.text, schema)) for _, scalar in self.node.groups
        ]
        self.comparable = not any("map<" in kind.simpleString() or holds_variant(kind) for _, kind in self.terms)

    def added(self, change: Delta | None, *, first: bool) -> Delta | None:
        self.first = first
        delta = change or Delta.of_frame(self.workspace, self.workspace.empty(self.schema), rows=0)
        return self.advance(self._contributed(delta), max(delta.estimate, 1))

    def _contributed(self, delta: Delta) -> str:
        groups = [f"{scalar.text} AS {name}" for name, (_, scalar) in zip(self.groups, self.node.groups, strict=True)]
        values = [f"{item.value} AS {quoted(item.name)}" for item in self.partials]
        items = ", ".join([f"{hash_text(self.terms)} AS {KEY}", *groups, *values])
        return f"SELECT {items} FROM {delta.view}"

    def contributed_schema(self) -> StructType:
        nothing = Delta.of_frame(self.workspace, self.workspace.empty(self.schema), rows=0)
        return self.workspace.sql(self.compacted(self._contributed(nothing))).schema

    def compacted(self, entries: str) -> str:
        if self.groups:
            return super().compacted(entries)
        return f"SELECT 0L AS {KEY}, {self.entries.added()} FROM ({entries})"

    def rewrite(self, entries: str, estimate: int) -> Delta | None:
        return super().rewrite(entries, estimate) if self.groups else self.touch(entries, 1)

    def output(self) -> str:
        was, now = self._present("__o_"), self._present("__t_")
        before, after = self._answer("__o_", -1), self._answer("__t_", 1)
        if self.comparable or not self.node.aggregates:
            same = f"({was} AND {now} AND {self._unchanged()})"
            was, now = f"{was} AND NOT {same}", f"{now} AND NOT {same}"
        return f"array(if({was}, {before}, NULL), if({now}, {after}, NULL))"

    def _unchanged(self) -> str:
        pairs = zip(self._answers("__o_"), self._answers("__t_"), strict=True)
        return " AND ".join(f"{before} <=> {after}" for before, after in pairs) or "true"

    def _answers(self, prefix: str) -> list[str]:
        """The aggregates' values, computed from the partials with one prefix."""
        found = []
        for _, answer in self.operator.partials.answers:
            text = answer
            for item in self.partials:
                text = text.replace(quoted(item.name), quoted(prefix + item.name))
            found.append(f"({text})")
        return found

    def _present(self, prefix: str) -> str:
        if self.groups:
            return f"coalesce({quoted(prefix + PRESENT)}, 0L) > 0"
        return "true" if prefix == "__t_" else str(not self.first).lower()

    def _answer(self, prefix: str, weight: int) -> str:
        """A struct of the output row, computed from the partials with one prefix."""
        named = [f"{name} AS {quoted(output)}" for name, (output, _) in zip(self.groups, self.node.groups, strict=True)]
        names = [output for output, _ in self.operator.partials.answers]
        named += [f"{text} AS {quoted(name)}" for name, text in zip(names, self._answers(prefix), strict=True)]
        return f"struct({', '.join([*named, f'{weight}L AS {WEIGHT}'])})"
