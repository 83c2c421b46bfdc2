"""An outer join whose unmatched rows are filtered out again is an inner one.

    Filter(r.b > 2)                Filter(r.b > 2)
      Join(left, l.k = r.k)    →     Join(inner, l.k = r.k)
        l                              l
        r                              r

An inner join follows each change alone; an outer one has to look at all rows of the keys that a change touches.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from dataclasses import replace

from penstock.plan.expressions import conjuncts
from penstock.plan.forms import Call, Form, Reference
from penstock.plan.nodes import AsofJoin, Filter, Join, JoinKind, Plan
from penstock.plan.scalar import Scalar

_COMPARED = frozenset({"=", "<>", ">", ">=", "<", "<="})
_TESTED = frozenset({"between", "in", "like"})


def simplify_outer_join(plan: Plan) -> Plan | None:
    """The filter over the join with the kind that remains when NULLs of a side never pass."""
    match plan:
        case Filter(input=Join() as join) if join.kind in (JoinKind.LEFT, JoinKind.RIGHT, JoinKind.FULL):
            kind = _remaining(join, plan.condition)
            return None if kind == join.kind else Filter(replace(join, kind=kind), plan.condition)
        case Filter(input=AsofJoin(kind=kind) as asof) if kind == JoinKind.LEFT:
            refused = _refuses_nulls(plan.condition, set(asof.right.names))
            return Filter(replace(asof, kind=JoinKind.INNER), plan.condition) if refused else None
        case _:
            return None


def _remaining(join: Join, condition: Scalar) -> JoinKind:
    # NULLs stand on the right of unmatched left rows, and the other way round.
    keeps_left = join.kind in (JoinKind.LEFT, JoinKind.FULL) and not _refuses_nulls(condition, set(join.right.names))
    keeps_right = join.kind in (JoinKind.RIGHT, JoinKind.FULL) and not _refuses_nulls(condition, set(join.left.names))
    if keeps_left:
        return JoinKind.FULL if keeps_right else JoinKind.LEFT
    return JoinKind.RIGHT if keeps_right else JoinKind.INNER


def _refuses_nulls(condition: Scalar, side: AbstractSet[str]) -> bool:
    return any(_refuses(part.form, side) for part in conjuncts(condition))


def _refuses(form: Form, side: AbstractSet[str]) -> bool:
    """True if the part is not TRUE for a row whose columns of that side are NULL."""
    match form:
        case Call(function, sides) if function in _COMPARED:
            return any(_null_with(item, side) for item in sides)
        case Call("not", (Call(function, (value, *_)),)) if function in _TESTED or function == "is null":
            return _null_with(value, side)
        case Call(function, (value, *_)) if function in _TESTED:
            return _null_with(value, side)
        case _:
            return False


def _null_with(form: Form, side: AbstractSet[str]) -> bool:
    """True if the expression is NULL where the columns of that side are: a column itself, or arithmetic on one."""
    match form:
        case Reference(name):
            return name in side
        case Call("+" | "-" | "*", operands):
            return any(_null_with(item, side) for item in operands)
        case _:
            return False
