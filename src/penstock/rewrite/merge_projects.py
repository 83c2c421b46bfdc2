"""Two projections in a row are one.

Project(a + 1 AS b)            Project(x * 2 + 1 AS b)
  Project(x * 2 AS a)      →     Scan(t)
    Scan(t)
"""

from __future__ import annotations

from collections import Counter

from penstock.plan.forms import Constant, Reference
from penstock.plan.nodes import Plan, Project
from penstock.plan.scalar import Scalar


def merge_projects(plan: Plan) -> Plan | None:
    """Substitute the inner expressions, unless one that costs something would be computed twice."""
    match plan:
        case Project(input=Project() as inner):
            given = dict(inner.items)
            if _computed_twice(plan, given):
                return None
            items = tuple((name, substituted(scalar, given)) for name, scalar in plan.items)
            return Project(inner.input, items)
        case _:
            return None


def _computed_twice(plan: Project, given: dict[str, Scalar]) -> bool:
    used = Counter(item.name for _, scalar in plan.items for item in scalar.form.walk() if isinstance(item, Reference))
    return any(count > 1 and not is_cheap(given[name]) for name, count in used.items())


def is_cheap(scalar: Scalar) -> bool:
    """True if the expression may be computed as often as one likes: a column or a literal."""
    return isinstance(scalar.form, Reference | Constant)


def substituted(scalar: Scalar, given: dict[str, Scalar]) -> Scalar:
    """The expression over the input of the projection that gives its columns."""
    if scalar.column is not None:
        found = given[scalar.column]
        return Scalar(found.text, found.tree, scalar.type or found.type, scalar.nullable, scalar.span)
    return scalar.replaced(lambda name: given[name].tree)
