"""Plans without the inputs that did not change: what is known to be empty never becomes a plan."""

from __future__ import annotations

from penstock.plan.forms import Constant
from penstock.plan.nodes import Filter, Plan, UnionAll
from penstock.plan.scalar import scalar_of

_NEVER = scalar_of(Constant("false", "boolean"), "boolean", nullable=False)


def without(node: Plan, present: frozenset[str]) -> Plan:
    """The chain with the branches of a UNION ALL dropped that read none of the `present` leaves, `#<number>` each.

    Where only Spark knows the type of a column that all branches have together, they stay, without rows.
    """
    if not isinstance(node, UnionAll):
        return node.with_inputs(*(without(item, present) for item in node.inputs))
    if any(item.type is None for item in node.outputs):
        read = ((item, item.scanned & present) for item in node.branches)
        branches = [without(item, present) if found else Filter(item, _NEVER) for item, found in read]
    else:
        branches = [without(branch, present) for branch in node.branches if branch.scanned & present]
    return UnionAll(tuple(branches), node.outputs)
