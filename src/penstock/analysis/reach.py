"""The reach of a window call: how far back it looks, so that rows further back than that cannot matter to a later one.

LAG(x, 2) OVER (ORDER BY at)                                        the last 2 rows
SUM(x) OVER (ORDER BY at ROWS 3 PRECEDING)                          the last 3 rows
SUM(x) OVER (ORDER BY at RANGE INTERVAL 1 HOUR PRECEDING)           rows up to an hour before
SUM(x) OVER (ORDER BY at)                                           without end
"""

from __future__ import annotations

from dataclasses import dataclass

from penstock.analysis.nulls import never_null
from penstock.plan.forms import Aggregated, Call, Constant, Edge, Form, Ordering, Over, Reference, Span
from penstock.plan.nodes import Plan
from penstock.plan.scalar import Scalar
from penstock.plan.writing import text_of

_OFFSETS = frozenset({"lag", "lead"})
_WITHOUT_FRAME = frozenset({"row_number", "rank", "dense_rank", "percent_rank", "cume_dist", "ntile"})
_FRACTIONAL = frozenset({"float", "double"})
_CALENDAR = ("MONTH", "QUARTER", "YEAR")


@dataclass(frozen=True)
class Reach:
    """The rows below a line that a change above it needs: the last `rows` by `order`, and what is within `distances`.

    It changes what is computed beside rows below the line that are within `ahead`, and beside the last `following`.
    """

    key: Form
    order: tuple[Ordering, ...]
    rows: int = 0
    distances: tuple[Form, ...] = ()
    ahead: tuple[Form, ...] = ()
    following: int = 0


def reach_of(call: Scalar, below: Plan) -> Reach | None:
    """The distance that `f(…) OVER (…)` looks back over its input; None if that has no bound that is plain to see."""
    window = call.form
    if not isinstance(window, Over) or not window.order or window.call is None:
        return None
    function, first = window.call, window.order[0]
    if function.function in _OFFSETS:
        offset = _offset(function)
        known = offset is not None and not _skips_nulls(window) and _nulls_above(first, below)
        rows = offset or 0
        return Reach(first.value, window.order, rows, following=rows if _leads(function) else 0) if known else None
    if function.function in _WITHOUT_FRAME:
        return None
    return _framed(window, below)


def further(line: Form, distances: tuple[Form, ...]) -> Form:
    """The line less the distances."""
    for distance in distances:
        line = Call("-", (line, distance))
    return line


def _skips_nulls(window: Over) -> bool:
    """True if the call does not count rows with NULL."""
    return isinstance(window.function, Aggregated) and window.function.nulls == "ignore"


def _offset(call: Call) -> int | None:
    if len(call.arguments) == 1:
        return 1
    match call.arguments[1]:
        case Call("-", (Constant() as number,)) | (Constant() as number):
            return int(number.value) if number.value.isdigit() else None
        case _:
            return None


def _leads(call: Call) -> bool:
    """True if LEAD or LAG looks ahead: LAG with a negative offset does."""
    backwards = len(call.arguments) > 1 and isinstance(call.arguments[1], Call)
    return (call.function == "lead") is not backwards


def _framed(window: Over, below: Plan) -> Reach | None:
    frame, order = window.frame, window.order
    if frame is None or frame.kind not in ("rows", "range"):
        return None
    edges = (frame.start, frame.end)
    if any(_is_open(edge) for edge in edges):
        return None
    key, found = order[0].value, [(edge.side, edge.distance) for edge in edges if edge.distance is not None]
    if frame.kind == "rows":
        counts = [_count(distance) for _, distance in found]
        if any(count is None for count in counts) or not _nulls_above(order[0], below):
            return None
        following = sum(count or 0 for (side, _), count in zip(found, counts, strict=True) if side == "following")
        return Reach(key, order, sum(count or 0 for count in counts), following=following)
    if len(order) != 1 or not _exact(found, key, below):
        return None
    upwards = "preceding" if order[0].descending else "following"
    ahead = tuple(distance for side, distance in found if side == upwards)
    return Reach(key, order, 0, tuple(distance for _, distance in found), ahead)


def _is_open(edge: Edge) -> bool:
    """True if a frame has no end there that is plain to see."""
    if edge.distance is None:
        return edge.side != "current row"
    match edge.distance:
        case Call("-", (_,)):
            return True
        case Span(value):
            return value.startswith("-")
        case _:
            return False


def _count(distance: Form) -> int | None:
    return int(distance.value) if isinstance(distance, Constant) and distance.value.isdigit() else None


def _exact(sides: list[tuple[str, Form]], key: Form, below: Plan) -> bool:
    """True if the distances can be taken from a line: looking ahead needs arithmetic that can be turned around."""
    if len(sides) <= 1 and not any(side == "following" for side, _ in sides):
        return True
    kind = below.field(key.name).type if isinstance(key, Reference) and key.name in below.names else None
    texts = [text_of(distance).upper() for _, distance in sides]
    return (
        kind is not None and kind not in _FRACTIONAL and not any(unit in text for text in texts for unit in _CALENDAR)
    )


def _nulls_above(item: Ordering, below: Plan) -> bool:
    """True if rows with NULL, which may always come, stand beside the newest rows and not before the oldest."""
    key = item.value
    if isinstance(key, Reference) and key.name in below.names and never_null(below, key.name):
        return True
    return item.nulls_first is item.descending
