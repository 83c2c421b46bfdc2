"""The nodes that join two relations."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from functools import cached_property

from penstock.plan.node import Field, Plan
from penstock.plan.parts import Part, invalid, parts_at
from penstock.plan.scalar import Scalar


class JoinKind(Enum):
    """The rows that a join gives, by kinds; the value is a kind's name in plans."""

    INNER = "inner"
    LEFT = "left"
    RIGHT = "right"
    FULL = "full"
    SEMI = "semi"
    ANTI = "anti"


@dataclass(frozen=True)
class JoinKey:
    """One equality of a join; `null_safe` for `<=>`."""

    left: Scalar
    right: Scalar
    null_safe: bool = False


@dataclass(frozen=True)
class Join(Plan):
    """A join of two inputs whose field names do not clash.

    Inner joins are bilinear; the outer ones, SEMI and ANTI work key by key. `residual` is the rest of the condition,
    over the fields of both sides. SEMI and ANTI give the left fields only. A cross join is INNER without keys.
    ANTI with `null_aware` is NOT IN: no row at all if the right side has a NULL (keys hold the one compared value;
    correlation keys come after it).
    """

    left: Plan
    right: Plan
    kind: JoinKind
    keys: tuple[JoinKey, ...] = ()
    residual: Scalar | None = None
    null_aware: bool = False

    @cached_property
    def fields(self) -> tuple[Field, ...]:
        if self.kind in (JoinKind.SEMI, JoinKind.ANTI):
            return self.left.fields
        left = _nullable(self.left.fields) if self.kind in (JoinKind.RIGHT, JoinKind.FULL) else self.left.fields
        right = _nullable(self.right.fields) if self.kind in (JoinKind.LEFT, JoinKind.FULL) else self.right.fields
        return left + right

    @property
    def parts(self) -> tuple[Part, ...]:
        residual = () if self.residual is None else (self.residual,)
        both = self.left.known | self.right.known
        return _compared(self.keys, self.left, self.right) + parts_at("the condition", residual, both)

    def __post_init__(self) -> None:
        """Refuse also a column that both sides have, which a condition could not tell apart."""
        super().__post_init__()
        both = self.left.known & self.right.known
        if both:
            message = f"Join has {min(both)} on both sides"
            raise invalid(message, hint="a projection below it gives the columns of one side other names")


def _compared(keys: tuple[JoinKey, ...], left: Plan, right: Plan) -> tuple[Part, ...]:
    return tuple(
        part
        for key in keys
        for part in (Part("a left key", key.left, left.known), Part("a right key", key.right, right.known))
    )


def _nullable(found: tuple[Field, ...]) -> tuple[Field, ...]:
    return tuple(Field(item.name, item.type, nullable=True) for item in found)


@dataclass(frozen=True)
class Match:
    """The comparison of an ASOF join: a left time with a right one, by `>=`, `>`, `<=` or `<`."""

    left: Scalar
    comparison: str
    right: Scalar

    @property
    def backwards(self) -> bool:
        """True if the right row lies before the left one."""
        return self.comparison in (">=", ">")

    @property
    def strict(self) -> bool:
        """True if two equal times do not match."""
        return self.comparison in (">", "<")


@dataclass(frozen=True)
class AsofJoin(Plan):
    """Each left row with the one right row that matches and lies closest to it; field names do not clash.

    Of right rows equally close the least is taken, the whole row ascending, NULLs first. INNER leaves out left rows
    that find none, LEFT keeps them with NULLs.
    """

    left: Plan
    right: Plan
    kind: JoinKind
    keys: tuple[JoinKey, ...]
    match: Match

    @cached_property
    def fields(self) -> tuple[Field, ...]:
        return self.left.fields + (_nullable(self.right.fields) if self.kind == JoinKind.LEFT else self.right.fields)

    @property
    def parts(self) -> tuple[Part, ...]:
        left = Part("the left time", self.match.left, self.left.known)
        right = Part("the right time", self.match.right, self.right.known)
        return (*_compared(self.keys, self.left, self.right), left, right)

    def __post_init__(self) -> None:
        """Refuse other kinds as well."""
        super().__post_init__()
        if self.kind not in (JoinKind.INNER, JoinKind.LEFT):
            message = f"AsofJoin has the kind {self.kind.value}"
            raise invalid(message, hint="it is inner or left")
