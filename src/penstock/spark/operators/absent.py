"""Plans without the inputs that did not change: what is known to be empty never becomes a plan."""

from __future__ import annotations

from penstock.plan.nodes import Plan, Scan, UnionAll


def without(node: Plan, present: frozenset[str]) -> Plan:
    """The chain with the branches of a UNION ALL dropped that read none of the `present` leaves."""
    if isinstance(node, UnionAll):
        kept = [branch for branch in node.branches if _reads(branch, present)]
        first = without(kept[0], present)
        rest = [without(branch, present) for branch in kept[1:]]
        return UnionAll((first, *rest), node.outputs)
    return node.with_inputs(*(without(item, present) for item in node.inputs))


def _reads(node: Plan, present: frozenset[str]) -> bool:
    return any(isinstance(item, Scan) and item.relation in present for item in node.walk())
