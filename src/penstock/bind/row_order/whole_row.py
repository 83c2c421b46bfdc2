"""The whole row, by which rows go that nothing else tells apart."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import reduce
from typing import cast

from sqlglot import exp

from penstock.bind.scalars import fields_of, scalar_of
from penstock.bind.scope import Scope
from penstock.catalog.sorting import VARIABLE, is_sorted, sortable
from penstock.plan.nodes import Plan
from penstock.plan.parsing import parse_scalar
from penstock.plan.scalar import column_tree
from penstock.sql.parse import parse_expression
from penstock.sql.text import spark_sql

Row = tuple[exp.Expression, ...]


def whole_row(plan: Plan, scope: Scope | None = None) -> Row:
    """The columns of `*`, without a scope all fields, in forms that can be sorted: rows are ordered by them."""
    fields = fields_of(plan)
    trees = [column_tree(name) for name in fields] if scope is None else [item.tree for item in scope.star() or ()]
    kinds = [scalar_of(tree, fields).type for tree in trees]
    return tuple(_sortable(tree, kind, parse_scalar) for tree, kind in zip(trees, kinds, strict=True) if kind != "void")


def sortable_tree(tree: exp.Expression, kind: str | None) -> exp.Expression:
    """A value in a form that Spark can sort, in a query's text, where columns may have a table before their name."""
    return _sortable(tree, kind, parse_expression)


def _sortable(tree: exp.Expression, kind: str | None, parse: Callable[[str], exp.Expression]) -> exp.Expression:
    if is_sorted(kind):
        return tree
    found: exp.Expression = parse(sortable(spark_sql(tree), kind)).transform(_variable)
    return found


def _is_variable(name: exp.Expr) -> bool:
    """True for the name of a variable that `sortable` has made."""
    return not name.args.get("quoted") and re.fullmatch(VARIABLE + r"\d+", name.name) is not None


def _variable(node: exp.Expression) -> exp.Expression:
    """A lambda's variable, or a field of it: no column of the input."""
    if not isinstance(node, exp.Column) or not _is_variable(node.parts[0]):
        return node
    first, *others = (part.copy() for part in node.parts)
    return cast("exp.Expression", reduce(lambda whole, part: exp.Dot(this=whole, expression=part), others, first))
