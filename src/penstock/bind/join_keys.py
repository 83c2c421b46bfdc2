"""A condition of a join split into keys, with both sides of one type, and the rest."""

from __future__ import annotations

from collections.abc import Iterable

from sqlglot import exp

from penstock.bind.scalars import fields_of, scalar_of
from penstock.catalog.types import INTEGRAL, is_decimal
from penstock.plan.nodes import Join, JoinKey, JoinKind, Plan
from penstock.plan.scalar import Scalar
from penstock.plan.sides import Sides, sides_of
from penstock.sql.trees import conjunction
from penstock.types.common import common_type


def join_on(left: Plan, right: Plan, kind: JoinKind, parts: Iterable[exp.Expression]) -> Join:
    """A join whose bound condition is the conjunction of the parts."""
    keys: list[JoinKey] = []
    rest: list[exp.Expression] = []
    for part in parts:
        key = _key(part, left, right)
        if key is None:
            rest.append(part)
        else:
            keys.append(key)
    whole = conjunction(rest)
    fields = fields_of(left) | fields_of(right)
    return Join(left, right, kind, tuple(keys), None if whole is None else scalar_of(whole, fields))


def equalities_on(left: Plan, right: Plan, parts: Iterable[exp.Expression]) -> tuple[JoinKey, ...] | None:
    """The keys of a bound condition that is equalities; None if it says more. A part that is `true` says nothing."""
    found = join_on(left, right, JoinKind.INNER, (part for part in parts if not _is_true(part)))
    return None if found.residual is not None else found.keys


def _is_true(part: exp.Expression) -> bool:
    return isinstance(part, exp.Boolean) and bool(part.this)


def _key(part: exp.Expression, left: Plan, right: Plan) -> JoinKey | None:
    if not isinstance(part, exp.EQ | exp.NullSafeEQ):
        return None
    read = columns_read(part.this), columns_read(part.expression)
    sides = sides_of(*read, left.names, right.names) if all(read) else None
    if sides is None:
        return None
    one, two = (part.this, part.expression) if sides is Sides.STRAIGHT else (part.expression, part.this)
    safe = isinstance(part, exp.NullSafeEQ)
    return aligned(scalar_of(one, fields_of(left)), scalar_of(two, fields_of(right)), null_safe=safe)


def columns_read(tree: exp.Expression) -> set[str]:
    """The names of the columns in a tree."""
    return {node.name for node in tree.find_all(exp.Column)}


def aligned(left: Scalar, right: Scalar, *, null_safe: bool = False) -> JoinKey:
    """A join key with both sides of one type, where both are known numbers of different types."""
    kind = common_type([left.type, right.type])
    if kind is None or left.type == right.type or not (kind in INTEGRAL or is_decimal(kind)):
        return JoinKey(left, right, null_safe)
    return JoinKey(left.cast_to(kind), right.cast_to(kind), null_safe)
