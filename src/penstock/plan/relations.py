"""The relations that a plan reads."""

from __future__ import annotations

from collections.abc import Set as AbstractSet

from penstock.plan.nodes import Plan, Scan


def relations_of(plan: Plan) -> set[str]:
    """The lower-case names of the relations that a plan scans."""
    return {node.relation.lower() for node in plan.walk() if isinstance(node, Scan)}


def reads_any(plan: Plan, names: AbstractSet[str]) -> bool:
    """True if a plan scans a relation with one of these lower-case names."""
    return any(isinstance(node, Scan) and node.relation.lower() in names for node in plan.walk())
