"""A condition that locks the times of two streams is decided where the two are joined, whatever is joined to them.

    Filter(b.at <= a.at + INTERVAL 1 HOUR)        Join(inner, a.k = c.k)
      Join(inner, a.k = c.k)                        Filter(b.at <= a.at + INTERVAL 1 HOUR)
        Join(inner)                          →        Join(inner)
          a                                             a
          b                                             b
        c                                           c

Without that their join would keep every row for ever. Other conditions that can raise stay where the other joins have
left their rows; a time so far from a column raises at the end of all times alone, and there Spark, which decides it
of the same rows, raises too.
"""

from __future__ import annotations

from dataclasses import replace

from penstock.plan.expressions import conjunction, conjuncts
from penstock.plan.nodes import Arrived, Arriving, Filter, Join, JoinKind, Plan
from penstock.plan.scalar import Scalar
from penstock.rewrite.raising import is_lock, types_of
from penstock.rewrite.splitting import filtered, without


def push_lock_into_join(plan: Plan) -> Plan | None:
    """The inner join over sides of which one that is a join has its own locks; they may stand above it or in it."""
    match plan:
        case Filter(input=Arrived(input=Join() as join) as arrived):
            moved = _locks_of(join, plan.condition)
            kept = replace(arrived, input=filtered(join, conjunction(moved)))
            return filtered(kept, without(plan.condition, moved)) if moved else None
        case Filter(input=Join(kind=JoinKind.INNER) as join):
            left, right = _locks_of(join.left, plan.condition), _locks_of(join.right, plan.condition)
            moved = (*left, *right)
            return filtered(_over(join, left, right), without(plan.condition, moved)) if moved else None
        case Join(kind=JoinKind.INNER, residual=residual) if residual is not None:
            left, right = _locks_of(plan.left, residual), _locks_of(plan.right, residual)
            moved = (*left, *right)
            return replace(_over(plan, left, right), residual=without(residual, moved)) if moved else None
        case _:
            return None


def _over(join: Join, left: tuple[Scalar, ...], right: tuple[Scalar, ...]) -> Join:
    return replace(join, left=_locked(join.left, left), right=_locked(join.right, right))


def _locked(side: Plan, locks: tuple[Scalar, ...]) -> Plan:
    """The side with its locks: what meets tables as it comes has them before it does."""
    if isinstance(side, Arriving):
        return replace(side, input=filtered(side.input, conjunction(locks)))
    return filtered(side, conjunction(locks))


def _locks_of(side: Plan, condition: Scalar) -> tuple[Scalar, ...]:
    """The parts of a condition that lock relations which a side joins."""
    join = side
    while isinstance(join, Filter | Arriving):
        join = join.input
    if not isinstance(join, Join) or join.kind is not JoinKind.INNER:
        return ()
    types = types_of(join)
    return tuple(part for part in conjuncts(condition) if part.columns <= types.keys() and is_lock(part, types))
