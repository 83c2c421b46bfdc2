"""IN and EXISTS on one side of a join are decided before the join, which then keeps fewer rows.

    Join(semi, l.k = s.k)          Join(inner, l.j = r.j)
      Join(inner, l.j = r.j)         Join(semi, l.k = s.k)
        l                       →      l
        r                              s
      s                              r

Of a LEFT join it is the left side that they may move to, of a RIGHT join the right one: the other side's rows, without
a match, would be NULLs. What can raise stays: the join may have removed the row for which it does. So does what asks
about rows with LATENESS: one that passes when the subquery changes its mind would come late to the join, which had to
keep for it what it forgets otherwise.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from penstock.plan.nodes import Join, JoinKey, JoinKind, Plan, Scan
from penstock.rewrite.raising import Types, cannot_raise, kind_of, types_of

_LEFT_KEPT = (JoinKind.INNER, JoinKind.LEFT)
_RIGHT_KEPT = (JoinKind.INNER, JoinKind.RIGHT)


def push_semi_join_below(plan: Plan) -> Plan | None:
    """The join over the side that the subquery asks about, with those of its rows alone that have an answer."""
    match plan:
        case Join(kind=JoinKind.SEMI | JoinKind.ANTI, left=Join() as join) if _is_safe(plan) and _is_timeless(join):
            read = set(_read(plan))
            if read and join.kind in _LEFT_KEPT and read <= set(join.left.names):
                return replace(join, left=replace(plan, left=join.left))
            if read and join.kind in _RIGHT_KEPT and read <= set(join.right.names):
                return replace(join, right=replace(plan, left=join.right))
            return None
        case _:
            return None


def _is_timeless(join: Join) -> bool:
    return all(node.timeless for node in join.walk() if isinstance(node, Scan))


def _read(join: Join) -> Iterator[str]:
    """The columns of the left side that decide whether a row of it stays."""
    left = set(join.left.names)
    for key in join.keys:
        yield from key.left.columns
    if join.residual is not None:
        yield from join.residual.columns & left


def _is_safe(join: Join) -> bool:
    """True if asking cannot raise, whatever the row."""
    left, right = types_of(join.left), types_of(join.right)
    if join.residual is not None and not cannot_raise(join.residual, {**left, **right}):
        return False
    return all(_compares_safely(key, left, right) for key in join.keys)


def _compares_safely(key: JoinKey, left: Types, right: Types) -> bool:
    kinds = kind_of(key.left.form, left), kind_of(key.right.form, right)
    return (
        cannot_raise(key.left, left)
        and cannot_raise(key.right, right)
        and kinds[0] is not None
        and kinds[0] == kinds[1]
    )
