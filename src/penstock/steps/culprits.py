"""Those of many things that make something fail, found by trying parts of them.

`fails` tries some of them, beside whatever is always there, and gives the error or None. Where each part works and only
both together fail, the fewest that still fail together are one culprit of several.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

Item = TypeVar("Item")
Error = TypeVar("Error")
Attempt = Callable[[Sequence[Item]], Error | None]
_ALONE = 1


@dataclass(frozen=True)
class Culprit(Generic[Item, Error]):
    """A cause of a failure: one thing alone, or several together."""

    items: Sequence[Item]
    error: Error


def culprits(items: Sequence[Item], fails: Attempt[Item, Error], error: Error) -> list[Culprit[Item, Error]]:
    """Those among items that fail with `error`; the others may still fail together with one another."""
    if len(items) == _ALONE:
        return [Culprit(items, error)]
    found = failing_alone(items, fails, error)
    return found or [Culprit(fewest_together(items, fails), error)]


def failing_alone(items: Sequence[Item], fails: Attempt[Item, Error], error: Error) -> list[Culprit[Item, Error]]:
    """Those among items that fail with `error` which fail by themselves."""
    if len(items) == _ALONE:
        return [Culprit(items, error)]
    found = []
    for half in _halves(items):
        said = fails(half)
        if said is not None:
            found += failing_alone(half, fails, said)
    return found


def fewest_together(items: Sequence[Item], fails: Attempt[Item, Error], beside: Sequence[Item] = ()) -> list[Item]:
    """The fewest of the items, in their order, that still fail beside some others; all of them do."""
    if beside and fails(beside) is not None:
        return []
    if len(items) <= _ALONE:
        return list(items)
    first, second = _halves(items)
    later = fewest_together(second, fails, [*beside, *first])
    return [*fewest_together(first, fails, [*beside, *later]), *later]


def _halves(items: Sequence[Item]) -> tuple[Sequence[Item], Sequence[Item]]:
    middle = len(items) // 2
    return items[:middle], items[middle:]
