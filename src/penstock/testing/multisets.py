"""Multisets of rows: consolidating, comparing with tolerance and wildcards, and adding changes up to a content."""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from penstock.testing.values import identity, matches, plain

Weighted = tuple[int, tuple[Any, ...]]
_SHOWN = 5


def consolidate(rows: Iterable[Weighted]) -> list[Weighted]:
    """The rows as plain values, weights of equal ones added up and zeros left out, in order of first appearance."""
    weights: dict[Hashable, int] = {}
    values: dict[Hashable, tuple[Any, ...]] = {}
    for weight, row in rows:
        flat = tuple(plain(value) for value in row)
        key = identity(flat)
        weights[key] = weights.get(key, 0) + weight
        values.setdefault(key, flat)
    return [(weight, values[key]) for key, weight in weights.items() if weight]


@dataclass(frozen=True)
class Difference:
    """The rows that two multisets do not share."""

    missing: tuple[Weighted, ...]
    unexpected: tuple[Weighted, ...]

    def __bool__(self) -> bool:
        return bool(self.missing or self.unexpected)

    def describe(self) -> str:
        """The first rows of each side, for people."""
        parts = []
        if self.missing:
            parts.append("missing " + _listing(self.missing))
        if self.unexpected:
            parts.append("unexpected " + _listing(self.unexpected))
        return ", ".join(parts)


def _listing(rows: Sequence[Weighted]) -> str:
    shown = "; ".join(f"{weight:+d} {show(row)}" for weight, row in rows[:_SHOWN])
    more = f" and {len(rows) - _SHOWN} more" if len(rows) > _SHOWN else ""
    return shown + more


def show(row: Sequence[Any]) -> str:
    """A row as one line of JSON."""
    return json.dumps(list(row), ensure_ascii=False, default=str)


def difference(expected: Iterable[Weighted], actual: Iterable[Weighted], absolute: float = 0.0) -> Difference:
    """The rows missing from and unexpected in `actual`; equal rows are paired first, the rest by `matches`."""
    wanted = {identity(row): (weight, row) for weight, row in consolidate(expected)}
    found = {identity(row): (weight, row) for weight, row in consolidate(actual)}
    for key in wanted.keys() & found.keys():
        (want, row), (have, given) = wanted[key], found[key]
        shared = min(abs(want), abs(have)) * (1 if want > 0 else -1) if (want > 0) == (have > 0) else 0
        wanted[key], found[key] = (want - shared, row), (have - shared, given)
    return _paired(_units(wanted.values()), _units(found.values()), absolute)


def _units(rows: Iterable[Weighted]) -> list[Weighted]:
    """One entry for each copy of a row, so that copies can find different partners."""
    return [(1 if weight > 0 else -1, row) for weight, row in rows for _ in range(abs(weight))]


def _paired(wanted: list[Weighted], found: list[Weighted], absolute: float) -> Difference:
    """A maximum pairing (augmenting paths): a row with '*' must not take the only partner of another row."""
    partner: dict[int, int] = {}

    def candidates(index: int) -> list[int]:
        weight, row = wanted[index]
        return [at for at, (other, given) in enumerate(found) if other == weight and matches(row, given, absolute)]

    def place(index: int, tried: set[int]) -> bool:
        for at in candidates(index):
            if at in tried:
                continue
            tried.add(at)
            if at not in partner or place(partner[at], tried):
                partner[at] = index
                return True
        return False

    missing = [wanted[index] for index in range(len(wanted)) if not place(index, set())]
    unexpected = [entry for at, entry in enumerate(found) if at not in partner]
    return Difference(tuple(consolidate(missing)), tuple(consolidate(unexpected)))


class Content:
    """A view's content, kept by adding its changes up: what a reader of the changes would have."""

    def __init__(self) -> None:
        self._rows: list[Weighted] = []

    @property
    def rows(self) -> list[Weighted]:
        """The rows with their multiplicities."""
        return self._rows

    def apply(self, change: Iterable[Weighted]) -> str | None:
        """Add a change; the answer says what is wrong with it if it takes back a row that is not there."""
        added = consolidate([*self._rows, *change])
        positive = [entry for entry in added if entry[0] > 0]
        negative = [(-weight, row) for weight, row in added if weight < 0]
        left = difference(negative, positive)
        if left.missing:
            return f"the change takes back rows that are not there: {_listing([(-w, row) for w, row in left.missing])}"
        self._rows = positive if not negative else list(left.unexpected)
        return None
