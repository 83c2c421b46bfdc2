"""The parts of a condition that may move below a node, and the two filters that come of it."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Set as AbstractSet

from penstock.plan.expressions import conjunction, conjuncts
from penstock.plan.nodes import Filter, Plan
from penstock.plan.scalar import Scalar
from penstock.rewrite.raising import Types, cannot_raise


def movable(condition: Scalar, columns: AbstractSet[str], types: Types) -> tuple[Scalar, ...]:
    """The parts that read nothing but some of `columns`, at least one of them, and cannot raise."""
    return tuple(
        part for part in conjuncts(condition) if part.columns and part.columns <= columns and cannot_raise(part, types)
    )


def without(condition: Scalar, moved: Iterable[Scalar]) -> Scalar | None:
    """The part of a condition that is left; None if nothing is."""
    gone = set(moved)
    return conjunction(part for part in conjuncts(condition) if part not in gone)


def filtered(plan: Plan, condition: Scalar | None) -> Plan:
    """The plan, with a filter on it if there is a condition."""
    return plan if condition is None else Filter(plan, condition)
