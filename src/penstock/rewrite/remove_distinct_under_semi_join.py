"""IN and EXISTS ask whether there is a row, not how many.

Join(semi)                     Join(semi)
  a                              a
  Project(k AS s.k)        →     Project(k AS s.k)
    Distinct                       b
      b

The projection is the one that gives the subquery its name, and need not be there.
"""

from __future__ import annotations

from dataclasses import replace

from penstock.plan.nodes import Distinct, Join, JoinKind, Plan, Project


def remove_distinct_under_semi_join(plan: Plan) -> Plan | None:
    """The join over the input of the DISTINCT on its right side."""
    match plan:
        case Join(kind=kind, right=Distinct(input=below)) if kind in (JoinKind.SEMI, JoinKind.ANTI):
            return replace(plan, right=below)
        case Join(kind=kind, right=Project(input=Distinct(input=below)) as named) if kind in (
            JoinKind.SEMI,
            JoinKind.ANTI,
        ):
            return replace(plan, right=replace(named, input=below))
        case _:
            return None
