"""Comparing the maintained content of a view with what its query answers over the tables (A6)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from penstock.backends.api import Relation, Relations

_RELATIVE = 1e-9
_COMPARED = 200_000
_SHOWN = 10


@dataclass(frozen=True)
class Verification:
    """The result: rows in the view, how many are missing or should not be there, some of them as `(weight, row)`."""

    view: str
    rows: int
    missing: int = 0
    unexpected: int = 0
    examples: Sequence[tuple[int, tuple[Any, ...]]] = field(default_factory=tuple)

    @property
    def ok(self) -> bool:
        """True if the view is right."""
        return self.missing == 0 and self.unexpected == 0

    def __bool__(self) -> bool:
        return self.ok


def compare(view: str, relations: Relations, maintained: Relation, expected: Relation) -> Verification:
    """Compare two contents as multisets, floats within 1e-9 of their magnitude."""
    rows = relations.differences(maintained, expected, _COMPARED)
    left = _without_rounding([(row[-1], row[:-1]) for row in rows])
    unexpected = sum(weight for weight, _ in left if weight > 0)
    missing = -sum(weight for weight, _ in left if weight < 0)
    return Verification(view, relations.count(maintained), missing, unexpected, tuple(left[:_SHOWN]))


def _without_rounding(rows: list[tuple[int, tuple[Any, ...]]]) -> list[tuple[int, tuple[Any, ...]]]:
    """The differences that are more than rounding: rows that agree in all but floats are paired in order of these."""
    groups: dict[Any, list[tuple[int, tuple[Any, ...]]]] = {}
    for weight, row in rows:
        groups.setdefault(repr([... if isinstance(value, float) else value for value in row]), []).append((weight, row))
    left: list[tuple[int, tuple[Any, ...]]] = []
    for group in groups.values():
        ours = sorted(_repeated(group, 1), key=_floats)
        theirs = sorted(_repeated(group, -1), key=_floats)
        if len(ours) == len(theirs) and all(map(_near, ours, theirs)):
            continue
        left += group
    return left


def _repeated(group: list[tuple[int, tuple[Any, ...]]], sign: int) -> list[tuple[Any, ...]]:
    return [row for weight, row in group if weight * sign > 0 for _ in range(abs(weight))]


def _floats(row: tuple[Any, ...]) -> list[tuple[bool, float]]:
    """The floats of a row: whether each is NaN, and what it is otherwise."""
    found = (value for value in row if isinstance(value, float))
    return [(True, 0.0) if math.isnan(value) else (False, value) for value in found]


def _near(one: tuple[Any, ...], other: tuple[Any, ...]) -> bool:
    return all(
        mine[0] == theirs[0] and math.isclose(mine[1], theirs[1], rel_tol=_RELATIVE, abs_tol=_RELATIVE)
        for mine, theirs in zip(_floats(one), _floats(other), strict=True)
    )
