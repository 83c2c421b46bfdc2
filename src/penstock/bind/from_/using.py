"""USING and NATURAL: columns of both sides that are compared, and are one column behind the join."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sqlglot import exp

from penstock.bind.diagnose import unknown_column
from penstock.bind.join_keys import aligned
from penstock.bind.scalars import fields_of, scalar_of
from penstock.bind.scope import Scope, Visible
from penstock.plan.nodes import JoinKey, JoinKind, Plan
from penstock.sql.trees import call

Pair = tuple[Visible, Visible]


def shared_columns(join: exp.Join, one: Scope, two: Scope) -> list[Pair]:
    """The columns that USING or NATURAL compares, as both sides see them."""
    pairs: list[Pair] = []
    for name, place in _common_names(join, one, two):
        first, second = one.unqualified(name, place), two.unqualified(name, place)
        if first is None or second is None:
            side = one if first is None else two
            raise unknown_column(name, side.names(), place)
        pairs.append((first, second))
    return pairs


def equalities_of(pairs: Iterable[Pair], left: Plan, right: Plan) -> tuple[JoinKey, ...]:
    """Their equalities."""
    return tuple(
        aligned(scalar_of(first.tree, fields_of(left)), scalar_of(second.tree, fields_of(right)))
        for first, second in pairs
    )


def merged_scope(pairs: Sequence[Pair], scopes: tuple[Scope, Scope], kind: JoinKind) -> Scope:
    """The scope behind the join: shared columns once."""
    one, two = scopes
    if kind in (JoinKind.SEMI, JoinKind.ANTI):
        return one.merging(tuple(first for first, _ in pairs), frozenset(first.field for first, _ in pairs))
    hidden = frozenset(item.field for pair in pairs for item in pair if item.field)
    merged = tuple(Visible(first.name, _merged(first, second, kind), exact=first.exact) for first, second in pairs)
    return one.beside(two).merging(merged, hidden)


def _merged(left: Visible, right: Visible, kind: JoinKind) -> exp.Expression:
    if kind == JoinKind.FULL:
        return call("coalesce", left.tree.copy(), right.tree.copy())
    return (right if kind == JoinKind.RIGHT else left).tree.copy()


def _common_names(join: exp.Join, left: Scope, right: Scope) -> list[tuple[str, exp.Expression]]:
    if join.args.get("using"):
        return [(part.name, part) for part in join.args["using"]]
    names = {item.name.lower() for item in right.star() or ()}
    return [(item.name, join) for item in left.star() or () if item.name.lower() in names]
