"""A condition on one side of a join is decided before the join, which then keeps fewer rows.

    Filter(l.a > 1 AND r.b > 2)        Join(inner, l.k = r.k)
      Join(inner, l.k = r.k)             Filter(l.a > 1)
        l                          →       l
        r                                Filter(r.b > 2)
                                           r

A filter above an outer join may not move to the side that is filled with NULLs. A part that can raise stays: the
join may have removed the row for which it does. Of an ASOF join only left rows go: without a right row, others match.
"""

from __future__ import annotations

from dataclasses import replace

from penstock.plan.expressions import conjunction
from penstock.plan.nodes import AsofJoin, Filter, Join, JoinKind, Plan
from penstock.rewrite.raising import types_of
from penstock.rewrite.splitting import filtered, movable, without

_LEFT_KEPT = (JoinKind.INNER, JoinKind.LEFT, JoinKind.SEMI, JoinKind.ANTI)
_RIGHT_KEPT = (JoinKind.INNER, JoinKind.RIGHT)


def push_filter_into_join(plan: Plan) -> Plan | None:
    """The join over filtered sides; what needs both sides, or may not move, stays above."""
    match plan:
        case Filter(input=Join() as join):
            types = types_of(join)
            left = movable(plan.condition, set(join.left.names), types) if join.kind in _LEFT_KEPT else ()
            right = movable(plan.condition, set(join.right.names), types) if join.kind in _RIGHT_KEPT else ()
            if not left and not right:
                return None
            sides = filtered(join.left, conjunction(left)), filtered(join.right, conjunction(right))
            return filtered(replace(join, left=sides[0], right=sides[1]), without(plan.condition, left + right))
        case Filter(input=AsofJoin() as asof):
            left = movable(plan.condition, set(asof.left.names), types_of(asof))
            if not left:
                return None
            kept = replace(asof, left=filtered(asof.left, conjunction(left)))
            return filtered(kept, without(plan.condition, left))
        case _:
            return None
