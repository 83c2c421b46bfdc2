"""CREATE FUNCTION."""

from __future__ import annotations

from penstock.bind.binder import context_of
from penstock.bind.level import Level
from penstock.bind.scope import Scope, Visible
from penstock.catalog.model import Catalog, Function
from penstock.plan.scalar import column_tree
from penstock.sql.complaints import wrong
from penstock.sql.statements import CreateFunction


def declare_function(catalog: Catalog, statement: CreateFunction) -> Catalog:
    """The catalogue with one more function, whose body has been bound once for its mistakes."""
    lower = statement.name.lower()
    if lower in catalog.functions and not statement.or_replace:
        hint = "CREATE OR REPLACE FUNCTION replaces it"
        raise wrong(
            code="ALREADY_EXISTS",
            message=f"there is a function {statement.name!r} already",
            place=statement.span,
            hint=hint,
        )
    function = Function(statement.name, statement.parameters, statement.returns, statement.body, statement.text)
    level = Level(
        context_of(catalog),
        Scope(shown=tuple(Visible(item.name, column_tree(item.name)) for item in statement.parameters)),
    )
    level.bind(statement.body)
    return catalog.with_function(function)
