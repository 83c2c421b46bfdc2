"""A comparison of both sides above an inner join is a part of its condition: there it bounds what the join must keep.

    Filter(r.at BETWEEN l.at AND l.until)        Join(inner, l.k = r.k, r.at BETWEEN l.at AND l.until)
      Join(inner, l.k = r.k)                 →     l
        l                                          r
        r

What can raise stays above, where the join has removed rows already, and so does what reads the clock.
"""

from __future__ import annotations

from dataclasses import replace

from penstock.plan.expressions import conjunction, conjuncts
from penstock.plan.nodes import Filter, Join, JoinKind, Plan
from penstock.plan.scalar import Scalar
from penstock.rewrite.raising import cannot_raise, types_of
from penstock.rewrite.splitting import filtered, without


def filter_to_join_condition(plan: Plan) -> Plan | None:
    """The inner join with more of a condition; what one side alone decides goes to that side by another rule."""
    match plan:
        case Filter(input=Join() as join) if join.kind == JoinKind.INNER:
            found = tuple(part for part in conjuncts(plan.condition) if _speaks_of_both(part, join))
            if not found:
                return None
            residual = found if join.residual is None else (*conjuncts(join.residual), *found)
            return filtered(replace(join, residual=conjunction(residual)), without(plan.condition, found))
        case _:
            return None


def _speaks_of_both(part: Scalar, join: Join) -> bool:
    left, right = set(join.left.names), set(join.right.names)
    both = part.columns & left and part.columns & right and part.columns <= left | right
    return bool(both) and not part.reads_clock and cannot_raise(part, types_of(join))
