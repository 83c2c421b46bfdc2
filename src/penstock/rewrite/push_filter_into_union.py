"""A condition on a union is one on each of its branches.

Filter(a > 1)                  UnionAll
  UnionAll                       Filter(a > 1)
    t                      →       t
    u                            Filter(x > 1)
                                   u
"""

from __future__ import annotations

from penstock.plan.nodes import Filter, Plan, UnionAll


def push_filter_into_union(plan: Plan) -> Plan | None:
    """The union over filters, each in its branch's own names."""
    match plan:
        case Filter(input=UnionAll() as union):
            branches = tuple(
                Filter(branch, plan.condition.renamed(dict(zip(union.names, branch.names, strict=True))))
                for branch in union.branches
            )
            return UnionAll(branches, union.outputs)
        case _:
            return None
