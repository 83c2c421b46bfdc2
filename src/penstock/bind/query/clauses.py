"""The clauses of one SELECT behind FROM and WHERE, bound."""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from penstock.bind.select.ordering import Ordering


@dataclass
class Clauses:
    """The clauses behind FROM and WHERE, bound: GROUP BY and OVER rewrite all of them alike."""

    names: list[str]
    items: list[exp.Expression]
    having: list[exp.Expression]
    qualify: list[exp.Expression]
    order: Ordering

    def trees(self) -> list[exp.Expression]:
        """All expressions, in a fixed order."""
        return [*self.items, *self.having, *self.qualify, *self.order.trees()]

    def with_trees(self, trees: list[exp.Expression]) -> Clauses:
        """The same clauses with rewritten expressions."""
        rest = iter(trees)

        def take(old: list[exp.Expression]) -> list[exp.Expression]:
            return [next(rest) for _ in old]

        items, having, qualify = take(self.items), take(self.having), take(self.qualify)
        return Clauses(self.names, items, having, qualify, self.order.with_trees(list(rest)))
