"""Plans without the inputs that did not change: what is known to be empty never becomes a plan."""

from __future__ import annotations

from penstock.plan.forms import Constant
from penstock.plan.nodes import Filter, Plan, Scan, UnionAll
from penstock.plan.scalar import scalar_of

_NEVER = scalar_of(Constant("false", "boolean"), "boolean", nullable=False)


def without(node: Plan, present: frozenset[str]) -> Plan:
    """The chain with the branches of a UNION ALL dropped that read none of the `present` leaves.

    Where only Spark knows the type of a column that all branches have together, they stay, without rows.
    """
    if not isinstance(node, UnionAll):
        return node.with_inputs(*(without(item, present) for item in node.inputs))
    if any(item.type is None for item in node.outputs):
        branches = [without(item, present) if _reads(item, present) else Filter(item, _NEVER) for item in node.branches]
    else:
        branches = [without(branch, present) for branch in node.branches if _reads(branch, present)]
    return UnionAll(tuple(branches), node.outputs)


def _reads(node: Plan, present: frozenset[str]) -> bool:
    return any(isinstance(item, Scan) and item.relation in present for item in node.walk())
