"""An equality above an inner join is a key of it: `FROM l, r WHERE l.k = r.k` is no cross join.

    Filter(l.k = r.k)              Join(inner, l.k = r.k)
      Join(inner)              →     l
        l                            r
        r

The two sides must be of one type: what Spark would cast to compare could not be hashed to one place.
"""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from penstock.plan.expressions import bare, conjuncts
from penstock.plan.nodes import INNER, Filter, Join, JoinKey, Plan
from penstock.plan.scalar import Scalar, render_scalar
from penstock.rewrite.raising import Types, cannot_raise, kind_of, types_of
from penstock.rewrite.splitting import filtered, without


def filter_to_join_key(plan: Plan) -> Plan | None:
    """The inner join with the equalities of the filter, or of its own residual, among its keys."""
    match plan:
        case Filter(input=Join() as join) if join.kind == INNER:
            found = _keys(plan.condition, join)
            if not found:
                return None
            keys = join.keys + tuple(key for key in found.values() if key not in join.keys)
            return filtered(replace(join, keys=keys), without(plan.condition, found))
        case Join(residual=residual) if plan.kind == INNER and residual is not None:
            found = _keys(residual, plan)
            if not found:
                return None
            keys = plan.keys + tuple(key for key in found.values() if key not in plan.keys)
            return replace(plan, keys=keys, residual=without(residual, found))
        case _:
            return None


def _keys(condition: Scalar, join: Join) -> dict[Scalar, JoinKey]:
    types = types_of(join)
    found = {part: _key(part, join, types) for part in conjuncts(condition)}
    return {part: key for part, key in found.items() if key is not None}


def _key(part: Scalar, join: Join, types: Types) -> JoinKey | None:
    tree = bare(part.tree)
    if not isinstance(tree, exp.EQ | exp.NullSafeEQ):
        return None
    one, other = _side(tree.this, part, types), _side(tree.expression, part, types)
    if one is None or other is None or one.type != other.type:
        return None
    left, right = set(join.left.names), set(join.right.names)
    null_safe = isinstance(tree, exp.NullSafeEQ)
    if one.columns <= left and other.columns <= right:
        return JoinKey(one, other, null_safe)
    if one.columns <= right and other.columns <= left:
        return JoinKey(other, one, null_safe)
    return None


def _side(tree: exp.Expression, part: Scalar, types: Types) -> Scalar | None:
    """One side of an equality, if it reads columns, cannot raise, and its type is certain."""
    inner = bare(tree).copy()
    scalar = Scalar(render_scalar(inner), inner, kind_of(inner, types), span=part.span)
    return scalar if scalar.columns and scalar.type is not None and cannot_raise(scalar, types) else None
