"""An equality above an inner join is a key of it: `FROM l, r WHERE l.k = r.k` is no cross join.

    Filter(l.k = r.k)              Join(inner, l.k = r.k)
      Join(inner)              →     l
        l                            r
        r

So is one in the rest of a join's own condition, except in NOT IN's, which asks for NULLs on the right side.

A side that can raise does so for rows that the rest of the condition keeps from it, so that it stays; but `l.k + 1` may
overflow where it is the first that is asked of all pairs, as it would there.

Whole numbers are cast to the wider type; other sides of different types stay a filter, since what Spark casts to
compare could not be hashed to one place.
"""

from __future__ import annotations

from dataclasses import replace

from penstock.catalog.types import INTEGRAL
from penstock.plan.expressions import conjuncts
from penstock.plan.forms import EQUATED, Call, Form
from penstock.plan.nodes import Filter, Join, JoinKey, JoinKind, Plan
from penstock.plan.scalar import Scalar, scalar_of
from penstock.plan.sides import Sides, sides_of
from penstock.rewrite.raising import Types, can_only_overflow, cannot_raise, kind_of, types_of
from penstock.rewrite.splitting import filtered, without


def filter_to_join_key(plan: Plan) -> Plan | None:
    """The inner join with the equalities of the filter, or any join with those of its own residual, among its keys."""
    match plan:
        case Filter(input=Join() as join) if join.kind == JoinKind.INNER:
            found = _keys(plan.condition, join)
            if not found:
                return None
            keys = join.keys + tuple(key for key in found.values() if key not in join.keys)
            return filtered(replace(join, keys=keys), without(plan.condition, found))
        case Join(residual=residual, null_aware=False) if residual is not None:
            found = _keys(residual, plan)
            if not found:
                return None
            keys = plan.keys + tuple(key for key in found.values() if key not in plan.keys)
            return replace(plan, keys=keys, residual=without(residual, found))
        case _:
            return None


def _keys(condition: Scalar, join: Join) -> dict[Scalar, JoinKey]:
    types = types_of(join)
    parts = conjuncts(condition)
    asked_of_all = parts[0] if not join.keys and join.residual in (None, condition) else None
    found = {part: _key(part, join, types, first=part is asked_of_all) for part in parts}
    return {part: key for part, key in found.items() if key is not None}


def _key(part: Scalar, join: Join, types: Types, *, first: bool) -> JoinKey | None:
    form = part.form
    if not isinstance(form, Call) or form.function not in EQUATED:
        return None
    one, other = (_side(side, part, types, first=first) for side in form.arguments)
    if one is None or other is None:
        return None
    sides = sides_of(one.columns, other.columns, join.left.names, join.right.names)
    if sides is None:
        return None
    if sides is Sides.CROSSED:
        one, other = other, one
    return _of_one_type(one, other, null_safe=form.function == "<=>")


def _side(form: Form, part: Scalar, types: Types, *, first: bool) -> Scalar | None:
    """One side of an equality, if it reads columns and may be asked of each row of a relation."""
    scalar = scalar_of(form, kind_of(form, types), span=part.span)
    fits = cannot_raise(scalar, types) or (first and can_only_overflow(scalar, types))
    return scalar if scalar.columns and fits else None


def _of_one_type(left: Scalar, right: Scalar, *, null_safe: bool) -> JoinKey | None:
    if left.type in INTEGRAL and right.type in INTEGRAL:
        wider = max(left.type, right.type, key=INTEGRAL.index)
        return JoinKey(left.cast_to(wider), right.cast_to(wider), null_safe)
    unknown = None in (left.type, right.type) and left.column is not None and right.column is not None
    return JoinKey(left, right, null_safe) if unknown or (left.type is not None and left.type == right.type) else None
