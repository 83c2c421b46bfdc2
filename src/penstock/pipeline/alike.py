"""Plans that give the same rows, where their tables have columns that only one of them knows.

    SELECT who, COUNT(*) FROM o GROUP BY who     over o (id, who)  and over  o (id, who, tag)

The columns that the other plan lacks are taken out of each, from its scans up. That goes as long as nothing but
projections names them; what goes by whole rows (DISTINCT, UNION, the first n rows) needs all of their columns.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from penstock.plan.nodes import (
    Aggregate,
    AsofJoin,
    Distinct,
    Fixpoint,
    MatchRecognize,
    Plan,
    Project,
    Recompute,
    Scan,
    SetOperation,
    TopK,
    UnionAll,
)

Names = frozenset[str]

_BY_WHOLE_ROWS = (AsofJoin, Distinct, Fixpoint, MatchRecognize, Recompute, SetOperation, TopK, UnionAll)


def alike(one: Plan | None, other: Plan | None) -> bool:
    """True if both plans give the same rows, whatever columns there are that neither needs."""
    if one is None or other is None:
        return one is other
    if one == other:
        return True
    mine, theirs = _scanned(one), _scanned(other)
    narrow = _without(one, _beyond(mine, theirs)), _without(other, _beyond(theirs, mine))
    return narrow[0] is not None and narrow[0] == narrow[1]


def _scanned(plan: Plan) -> dict[str, Names]:
    """The columns of each relation that a plan knows."""
    found: dict[str, Names] = {}
    for node in plan.walk():
        if isinstance(node, Scan):
            name = node.relation.lower()
            found[name] = found.get(name, frozenset()) | frozenset(node.names)
    return found


def _beyond(one: Mapping[str, Names], other: Mapping[str, Names]) -> dict[str, Names]:
    return {name: columns - other.get(name, columns) for name, columns in one.items()}


class _NeededError(Exception):
    """A column that is to go is needed."""


def _without(plan: Plan, gone: Mapping[str, Names]) -> Plan | None:
    """The plan without columns of its relations; None if it needs them."""
    try:
        found, lost = _narrow(plan, gone)
    except _NeededError:
        return None
    return None if lost else found


def _narrow(plan: Plan, gone: Mapping[str, Names]) -> tuple[Plan, Names]:
    """The plan without these columns, and those of its own that it has lost with them."""
    if isinstance(plan, Scan):
        lost = gone.get(plan.relation.lower(), frozenset()) & frozenset(plan.names)
        return _scan(plan, lost), lost
    found = [_narrow(item, gone) for item in plan.inputs]
    lost = frozenset().union(*(names for _, names in found))
    if not lost:
        return plan.with_inputs(*(item for item, _ in found)), lost
    if isinstance(plan, Project):
        return _project(plan, found[0][0], lost)
    if isinstance(plan, _BY_WHOLE_ROWS) or any(part.scalar.columns & lost for part in plan.parts):
        raise _NeededError
    passed = frozenset() if isinstance(plan, Aggregate) else lost & frozenset(plan.names)
    return plan.with_inputs(*(item for item, _ in found)), passed


def _scan(scan: Scan, lost: Names) -> Scan:
    left = tuple(item for item in scan.outputs if item.name not in lost)
    if not left:
        raise _NeededError
    return replace(scan, outputs=left) if lost else scan


def _project(project: Project, narrow: Plan, lost: Names) -> tuple[Project, Names]:
    """The projection without items that only pass on what is lost."""
    kept = tuple((name, scalar) for name, scalar in project.items if scalar.column not in lost)
    if not kept or any(scalar.columns & lost for _, scalar in kept):
        raise _NeededError
    return Project(narrow, kept), frozenset(project.names) - frozenset(name for name, _ in kept)
