"""The answers of a subquery, looked up for each row of the query around it: joins on keys of both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from penstock.bind.join_keys import aligned, join_on
from penstock.bind.scalars import fields_of, scalar_of
from penstock.catalog.types import INTEGRAL, Type, is_collated, is_decimal
from penstock.plan.nodes import AggregateCall, Join, JoinKind, Plan, Project
from penstock.plan.scalar import Scalar, column
from penstock.sql.trees import call

Key = tuple[exp.Expression, exp.Expression, bool]
"""An expression over the query, one over the subquery, and whether NULL equals NULL."""


@dataclass(frozen=True)
class Answers:
    """The answers of a subquery: its rows, the keys that tie them to the row that asks, and a prefix for new names."""

    plan: Plan
    keys: Sequence[Key]
    prefix: str


def told_apart_alike(one: Type | None, other: Type | None) -> bool:
    """True if values of one type that differ equal different ones of the other, as far as the types are known."""
    if one is None or other is None or one == other or "void" in (one, other):
        return True
    exact = all(kind in INTEGRAL or is_decimal(kind) for kind in (one, other))
    texts = all(kind.startswith(("string", "varchar", "char")) and not is_collated(kind) for kind in (one, other))
    return exact or texts or {one, other} in ({"float", "double"}, {"date", "timestamp"}, {"date", "timestamp_ntz"})


def can_be_null(keys: Sequence[Key], left: Plan, right: Plan) -> bool:
    """True if an equality of the keys can be unknown."""
    one, two = fields_of(left), fields_of(right)
    return any(scalar_of(item, one).nullable or scalar_of(value, two).nullable for item, value, _ in keys)


def join(left: Plan, right: Plan, kind: JoinKind, keys: Sequence[Key], residual: Sequence[exp.Expression] = ()) -> Join:
    """The join on keys, with other conditions beside them."""
    one, two = fields_of(left), fields_of(right)
    made = [aligned(scalar_of(item, one), scalar_of(value, two), null_safe=safe) for item, value, safe in keys]
    joined = join_on(left, right, kind, residual)
    return Join(left, right, kind, tuple(made) + joined.keys, joined.residual)


def on_keys(plan: Plan, right: Plan, keys: Sequence[Key]) -> Plan:
    """One row of the right side at most for each row: joined on the keys, or with everything."""
    return join(plan, right, JoinKind.LEFT if keys else JoinKind.INNER, keys)


def keyed(right: Plan, keys: Sequence[Key], *items: tuple[str, Scalar]) -> Project:
    """The subquery's side of the keys, and further columns."""
    fields = fields_of(right)
    return Project(right, tuple((tree.name, scalar_of(tree, fields)) for _, tree, _ in keys) + items)


def groups_of(right: Plan, keys: Sequence[Key]) -> tuple[tuple[str, Scalar], ...]:
    """The subquery's side of the keys as the groups of an aggregate."""
    fields = fields_of(right)
    return tuple((tree.name, scalar_of(tree, fields)) for _, tree, _ in keys)


def aggregate_call(function: str, argument: exp.Expression, right: Plan) -> AggregateCall:
    """One aggregate over the subquery's rows."""
    fields = fields_of(right)
    whole = scalar_of(call(function, argument.copy()), fields)
    return AggregateCall(function, (scalar_of(argument, fields),), whole)


def count_rows(right: Plan) -> AggregateCall:
    """The number of rows."""
    return aggregate_call("count", exp.Literal.number(1), right)


def renamed(plan: Plan, letter: str) -> Project:
    """The plan with a letter in front of each field's name."""
    return Project(
        plan, tuple((f"{letter}{item.name}", column(item.name, item.type, item.nullable)) for item in plan.fields)
    )
