"""A condition on computed columns becomes one on what they are computed from.

    Filter(b > 2)                  Project(a + 1 AS b)
      Project(a + 1 AS b)      →     Filter(a + 1 > 2)
        Scan(t)                        Scan(t)

Both see the same rows, so a condition that can raise may move as well.
"""

from __future__ import annotations

from penstock.plan.nodes import Filter, Plan, Project
from penstock.rewrite.merge_projects import is_cheap, substituted

_LARGE = 200  # characters: a longer expression is not computed a second time for the sake of an earlier filter


def push_filter_through_project(plan: Plan) -> Plan | None:
    """The projection over the filter, unless that computes a large expression twice."""
    match plan:
        case Filter(input=Project() as project):
            given = dict(project.items)
            used = [given[name] for name in plan.condition.columns]
            if any(not is_cheap(scalar) and len(scalar.text) > _LARGE for scalar in used):
                return None
            return Project(Filter(project.input, substituted(plan.condition, given)), project.items)
        case _:
            return None
