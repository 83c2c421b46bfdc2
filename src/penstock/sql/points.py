"""Points of the past in queries: `AS OF STEP n | TIMESTAMP t | POSITION p`, `START AT p | STEP n`.

A point stands at the end of a whole query, before or behind EMIT. AS OF answers the query over the contents as they
were then; START AT has a query stand that reads streams from there on.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from sqlglot import exp

from penstock.errors import Diagnostic, Span, SqlError

POINT = "point"  # in the meta of a query
AS_OF, START_AT = "AS OF", "START AT"


class PointKind(StrEnum):
    """The unit in which a point is said."""

    STEP = "STEP"
    TIMESTAMP = "TIMESTAMP"
    POSITION = "POSITION"


@dataclass(frozen=True)
class Point:
    """A point as it is written: `value` is the number of a step, the text of an expression, or the name of a position.

    `clause` is 'AS OF' or 'START AT'.
    """

    clause: str
    kind: PointKind
    value: str
    span: Span | None = None

    @property
    def text(self) -> str:
        """The clause in its normal form."""
        named = self.clause == START_AT and self.kind is PointKind.POSITION
        return f"{self.clause} {self.value}" if named else f"{self.clause} {self.kind} {self.value}"


def point_of(tree: exp.Expression) -> Point | None:
    """The point at the end of a query, if there is one."""
    found: Point | None = tree.meta.get(POINT)
    return found


def is_begun(tree: exp.Expression) -> Point | None:
    """The START AT at the end of a query, which stands then."""
    found = point_of(tree)
    return found if found is not None and found.clause == START_AT else None


def begun_at(tree: exp.Expression, step: int) -> exp.Expression:
    """The query with a START AT behind a step."""
    found = tree.copy()
    found.meta[POINT] = Point(START_AT, PointKind.STEP, str(step))
    return found


def without_past(tree: exp.Expression) -> exp.Expression:
    """The query without its AS OF, which says over which contents it is answered."""
    found = point_of(tree)
    if found is None or found.clause != AS_OF:
        return tree
    bare = tree.copy()
    del bare.meta[POINT]
    return bare


def refuse_point(tree: exp.Expression) -> None:
    """SqlError for a point where none can stand: in a sub-query, a view, or a statement that writes."""
    point = point_of(tree)
    if point is None:
        return
    asked = "a query that is asked" if point.clause == AS_OF else "a query that stands"
    message = f"{point.text} stands at the end of {asked}, and nowhere else"
    hint = (
        "a view is over what there is now" if point.clause == AS_OF else "subscribe() to it, or write it in the shell"
    )
    raise SqlError(Diagnostic("POINT_MISPLACED", message, point.span, hint=hint))
