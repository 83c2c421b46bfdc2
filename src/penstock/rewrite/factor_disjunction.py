"""A condition that every branch of an OR asks for is asked once, where it can be the key of a join.

    Filter((l.k = r.k AND l.a > 1) OR (r.k = l.k AND r.b > 2))    Filter(l.k = r.k AND (l.a > 1 OR r.b > 2))
      Join(inner)                                             →     Join(inner)
        l                                                             l
        r                                                             r

AND distributes over OR in the logic of three values, too. What can raise stays in its branches: a part beside it may be
what keeps it from doing so.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace

from penstock.plan.expressions import conjunction, conjuncts, disjunction, disjuncts
from penstock.plan.forms import EQUATED, Call
from penstock.plan.nodes import Filter, Join, Plan
from penstock.plan.scalar import Scalar
from penstock.rewrite.raising import Types, cannot_raise, types_of


def factor_disjunction(plan: Plan) -> Plan | None:
    """The filter, or the join with a condition beside its keys, whose ORs have nothing in common."""
    match plan:
        case Filter():
            condition = _factored(plan.condition, types_of(plan.input))
            return None if condition is None else replace(plan, condition=condition)
        case Join(residual=residual) if residual is not None:
            condition = _factored(residual, {**types_of(plan.left), **types_of(plan.right)})
            return None if condition is None else replace(plan, residual=condition)
        case _:
            return None


def _factored(condition: Scalar, types: Types) -> Scalar | None:
    """The condition with the common parts of each OR beside it; None if there are none."""
    before = conjuncts(condition)
    after = tuple(found for part in before for found in _parts(part, types))
    return None if after == before else conjunction(after)


def _parts(part: Scalar, types: Types) -> tuple[Scalar, ...]:
    branches = [conjuncts(branch) for branch in disjuncts(part)]
    shared = set.intersection(*({_meaning(item) for item in branch} for branch in branches))
    common = {_meaning(item): item for item in branches[0] if _meaning(item) in shared and cannot_raise(item, types)}
    if len(branches) == 1 or not common:
        return (part,)
    rest = [conjunction(item for item in branch if _meaning(item) not in common) for branch in branches]
    # A branch that asks for nothing else decides the others: a OR (a AND b) is a.
    either = None if None in rest else disjunction(item for item in rest if item is not None)
    return (*common.values(), *(() if either is None else (either,)))


def _meaning(part: Scalar) -> Hashable:
    """The same for `a = b` and `b = a`."""
    match part.form:
        case Call(function, sides) if function in EQUATED:
            return function, frozenset(sides)
        case _:
            return part
