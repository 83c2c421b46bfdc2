"""The only source of chance. The first of several choices is the simplest one: Hypothesis shrinks towards it."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import TypeVar

Item = TypeVar("Item")


class Dice:
    """Draws, and remembers which constructs were drawn (`used`).

    `shared` keeps to the part of SQL that Spark and DuckDB read alike.
    """

    def __init__(self, random: Random, *, shared: bool = False) -> None:
        self._random = random
        self.shared = shared
        self._numbers = 0
        self.used: set[str] = set()

    def pick(self, items: Sequence[Item]) -> Item:
        """One of the items; the first is the simplest."""
        return items[self._random.randrange(len(items))]

    def weighted(self, items: Sequence[tuple[int, Item]]) -> Item:
        """One of the items, each as often as its weight says."""
        place = self._random.randrange(sum(weight for weight, _ in items))
        for weight, item in items:
            if place < weight:
                return item
            place -= weight
        raise AssertionError

    def often(self, chance: float) -> bool:
        """True with that probability; False is the simpler answer."""
        return self._random.randrange(1000) >= 1000 * (1 - chance)

    def number(self, low: int, high: int) -> int:
        """A whole number between, both included."""
        return low + self._random.randrange(high - low + 1)

    def some(self, items: Sequence[Item], low: int, high: int) -> list[Item]:
        """Different items, at least `low` and at most `high`, in a random order."""
        left = list(items)
        count = min(self.number(low, high), len(left))
        return [left.pop(self._random.randrange(len(left))) for _ in range(count)]

    def name(self, prefix: str) -> str:
        """A name that was not given before."""
        self._numbers += 1
        return f"{prefix}{self._numbers}"

    def use(self, construct: str) -> None:
        """Remember that a construct was drawn."""
        self.used.add(construct)
