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
        case Filter(input=UnionAll() as union) if _types_known(plan, union):
            branches = tuple(
                Filter(branch, plan.condition.renamed(dict(zip(union.names, branch.names, strict=True))))
                for branch in union.branches
            )
            return UnionAll(branches, union.outputs)
        case _:
            return None


def _types_known(plan: Filter, union: UnionAll) -> bool:
    """True if the columns that the condition reads have one type; to one that only Spark finds a branch is cast."""
    kinds = {name: {branch.fields[place].type for branch in union.branches} for place, name in enumerate(union.names)}
    return all(len(kinds[name]) == 1 and None not in kinds[name] for name in plan.condition.columns)
