"""A union of unions is one union.

UnionAll                       UnionAll
  UnionAll                       a
    a                      →     b
    b                            c
  c
"""

from __future__ import annotations

from penstock.plan.nodes import Plan, UnionAll


def merge_unions(plan: Plan) -> Plan | None:
    """The branches of inner unions in their place."""
    match plan:
        case UnionAll(branches=branches) if any(isinstance(branch, UnionAll) for branch in branches):
            flat = tuple(
                item for branch in branches for item in (branch.branches if isinstance(branch, UnionAll) else (branch,))
            )
            return UnionAll(flat, plan.outputs)
        case _:
            return None
