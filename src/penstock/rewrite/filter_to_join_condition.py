"""A comparison of both sides above an inner join is a part of its condition: there it bounds what the join must keep.

    Filter(r.at BETWEEN l.at AND l.until)        Join(inner, l.k = r.k, r.at BETWEEN l.at AND l.until)
      Join(inner, l.k = r.k)                 →     l
        l                                          r
        r

A condition that reads the clock stays above. One that can raise, such as `r.at < l.at + INTERVAL 1 HOUR` at the end of
time, is asked of the same pairs in the join as above it, if all that the filter asks before it goes along, and all
that the join asks before it is never NULL: AND asks on where its left side is NULL, a filter does not.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from penstock.plan.expressions import conjunction, conjuncts
from penstock.plan.forms import COMPARED, Call, Constant, Form, Reference
from penstock.plan.nodes import Filter, Join, JoinKind, Plan
from penstock.plan.scalar import Scalar
from penstock.rewrite.raising import cannot_raise, types_of
from penstock.rewrite.splitting import filtered, without


def filter_to_join_condition(plan: Plan) -> Plan | None:
    """The inner join with more of a condition; what one side alone decides goes to that side by another rule."""
    match plan:
        case Filter(input=Join() as join) if join.kind == JoinKind.INNER:
            found = _moved(plan.condition, join)
            if not found:
                return None
            residual = found if join.residual is None else (*conjuncts(join.residual), *found)
            return filtered(replace(join, residual=conjunction(residual)), without(plan.condition, found))
        case _:
            return None


def _moved(condition: Scalar, join: Join) -> tuple[Scalar, ...]:
    """The parts that become the join's, in their order; some only for what stands behind them."""
    types, parts = types_of(join), conjuncts(condition)
    first = set(_asked_first(parts, join))
    return tuple(part for part in parts if part in first or (_speaks_of_both(part, join) and cannot_raise(part, types)))


def _asked_first(parts: tuple[Scalar, ...], join: Join) -> tuple[Scalar, ...]:
    """The parts up to the last one of both sides that nothing of the filter keeps from a pair of the join."""
    if join.residual is not None and not _never_null(join.residual.form, join):
        return ()
    asked = tuple(_up_to_the_clock(parts, join))
    last = max((place for place, part in enumerate(asked) if _speaks_of_both(part, join)), default=-1)
    return asked[: last + 1]


def _up_to_the_clock(parts: tuple[Scalar, ...], join: Join) -> Iterator[Scalar]:
    known = {*join.left.names, *join.right.names}
    for part in parts:
        if part.reads_clock or not part.columns <= known:
            return
        yield part


def _never_null(form: Form, join: Join) -> bool:
    """True if a condition is TRUE or FALSE for every pair: it compares what is never NULL."""
    match form:
        case Reference(name):
            return not join.field(name).nullable
        case Constant():
            return form.is_text or form.is_number
        case Call("is null" | "is true" | "is false"):
            return True
        case Call("and" | "or" | "not" | "between", operands):
            return all(_never_null(item, join) for item in operands)
        case Call(function, operands) if function in COMPARED:
            return function == "<=>" or all(_never_null(item, join) for item in operands)
        case _:
            return False


def _speaks_of_both(part: Scalar, join: Join) -> bool:
    left, right = set(join.left.names), set(join.right.names)
    both = part.columns & left and part.columns & right and part.columns <= left | right
    return bool(both) and not part.reads_clock
