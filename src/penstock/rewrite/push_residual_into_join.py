"""A part of a join's condition that speaks of one side only is a filter on that side.

    Join(inner, l.k = r.k, r.b > 2)        Join(inner, l.k = r.k)
      l                                →     l
      r                                      Filter(r.b > 2)
                                               r

The side whose rows are kept without a match is not filtered: its rows stay, whatever the condition says.
"""

from __future__ import annotations

from dataclasses import replace

from penstock.plan.expressions import conjunction
from penstock.plan.nodes import Join, JoinKind, Plan
from penstock.rewrite.raising import types_of
from penstock.rewrite.splitting import filtered, movable, without

_LEFT_MATCHED_ONLY = (JoinKind.INNER, JoinKind.RIGHT, JoinKind.SEMI)
_RIGHT_MATCHED_ONLY = (JoinKind.INNER, JoinKind.LEFT, JoinKind.SEMI, JoinKind.ANTI)


def push_residual_into_join(plan: Plan) -> Plan | None:
    """The join over filtered sides; NOT IN, which asks for NULLs on its right side, is left alone."""
    match plan:
        case Join(residual=residual, null_aware=False) if residual is not None:
            types = {**types_of(plan.left), **types_of(plan.right)}
            left = movable(residual, set(plan.left.names), types) if plan.kind in _LEFT_MATCHED_ONLY else ()
            right = movable(residual, set(plan.right.names), types) if plan.kind in _RIGHT_MATCHED_ONLY else ()
            if not left and not right:
                return None
            return replace(
                plan,
                left=filtered(plan.left, conjunction(left)),
                right=filtered(plan.right, conjunction(right)),
                residual=without(residual, left + right),
            )
        case _:
            return None
