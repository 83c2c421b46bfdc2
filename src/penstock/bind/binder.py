"""The binder of a program: the entries to expressions, FROM and queries, by which the files in these folders meet."""

from __future__ import annotations

from sqlglot import exp

from penstock.bind.bound_query import BoundQuery
from penstock.bind.expressions.expression import bind_expression
from penstock.bind.from_.relations import bind_relation
from penstock.bind.level import Context, Level
from penstock.bind.query.whole_query import bind_whole_query
from penstock.bind.scope import Relation
from penstock.bind.taking_in import TakingIn
from penstock.catalog.model import Catalog


class _Binder:
    """A `level.Binder`."""

    def expression(self, tree: exp.Expression, level: Level) -> exp.Expression:
        """A copy of a parsed expression in which every name has its meaning."""
        return bind_expression(tree, level)

    def relation(self, tree: exp.Expression, level: Level) -> Relation:
        """One item of FROM."""
        return bind_relation(tree, level)

    def query(self, tree: exp.Expression, context: Context, *, keep_order: bool) -> BoundQuery:
        """A query in its context."""
        return bind_whole_query(tree, context, keep_order=keep_order)


def context_of(catalog: Catalog, taking_in: TakingIn | None = None) -> Context:
    """The context of a statement of a program: nothing around it, all that is declared; `taking_in` if it stands."""
    return Context(catalog, _Binder(), taking_in=taking_in)
