"""Two values that are compared, each of one of two relations: which of them is of the left one."""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Set as AbstractSet
from enum import Enum


class Sides(Enum):
    """Two values as they stand, of the left and of the right relation, or the other way round."""

    STRAIGHT = "straight"
    CROSSED = "crossed"


def sides_of(
    one: AbstractSet[str], other: AbstractSet[str], left: Collection[str], right: Collection[str]
) -> Sides | None:
    """The sides of two values that read the columns `one` and `other`; None if some of them are of both or neither.

    `left` and `right` have the columns of the relations, none of which is in both.
    """
    lefts, rights = set(left), set(right)
    if one <= lefts and other <= rights:
        return Sides.STRAIGHT
    return Sides.CROSSED if one <= rights and other <= lefts else None
