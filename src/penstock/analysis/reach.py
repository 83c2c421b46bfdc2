"""How far back a window call looks, so that rows further back than that cannot matter to a later one.

LAG(x, 2) OVER (ORDER BY at)                                        the last 2 rows
SUM(x) OVER (ORDER BY at ROWS 3 PRECEDING)                          the last 3 rows
SUM(x) OVER (ORDER BY at RANGE INTERVAL 1 HOUR PRECEDING)           rows up to an hour before
SUM(x) OVER (ORDER BY at)                                           without end
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sqlglot import exp

from penstock.analysis.nulls import never_null
from penstock.plan.expressions import bare
from penstock.plan.nodes import Plan
from penstock.plan.scalar import Scalar

_OFFSETS = frozenset({"lag", "lead"})
_WITHOUT_FRAME = frozenset({"row_number", "rank", "dense_rank", "percent_rank", "cume_dist", "ntile"})
_FRACTIONAL = frozenset({"float", "double"})
_CALENDAR = ("MONTH", "QUARTER", "YEAR")


@dataclass(frozen=True)
class Reach:
    """What a change above a line needs from below it: the last `rows` by `order`, and what is within `distances`.

    It changes what is computed beside rows below the line that are within `ahead`.
    """

    key: exp.Expression
    order: tuple[exp.Ordered, ...]
    rows: int = 0
    distances: tuple[exp.Expression, ...] = ()
    ahead: tuple[exp.Expression, ...] = ()


def reach_of(call: Scalar, below: Plan) -> Reach | None:
    """How far `f(…) OVER (…)` looks back over its input; None if that has no bound that is plain to see."""
    window = bare(call.tree)
    order = window.args.get("order") if isinstance(window, exp.Window) else None
    items = () if order is None else tuple(order.expressions)
    if not items or not all(isinstance(item, exp.Ordered) for item in items):
        return None
    function, keeps_nulls = _function(window)
    name = str(function.this).lower() if isinstance(function, exp.Anonymous) else ""
    key = bare(items[0].this)
    if name in _OFFSETS:
        offset = _offset(function)
        known = offset is not None and keeps_nulls and _nulls_above(items[0], key, below)
        return Reach(key, items, offset or 0) if known else None
    if name in _WITHOUT_FRAME or not name:
        return None
    return _framed(window, items, key, below)


def further(line: exp.Expression, distances: tuple[exp.Expression, ...]) -> exp.Expression:
    """The line less the distances."""
    for distance in distances:
        line = exp.Sub(this=line.copy(), expression=exp.Paren(this=distance.copy()))
    return line


def _function(window: exp.Expression) -> tuple[exp.Expression, bool]:
    """The call inside OVER, and whether it counts rows with NULL."""
    function, keeps = window.this, True
    while isinstance(function, exp.IgnoreNulls | exp.RespectNulls | exp.Filter):
        keeps = keeps and not isinstance(function, exp.IgnoreNulls)
        function = function.this
    return function, keeps


def _offset(function: exp.Expression) -> int | None:
    if len(function.expressions) == 1:
        return 1
    node = bare(function.expressions[1])
    node = bare(node.this) if isinstance(node, exp.Neg) else node
    return int(node.name) if isinstance(node, exp.Literal) and node.name.isdigit() else None


def _framed(window: exp.Expression, order: tuple[exp.Ordered, ...], key: exp.Expression, below: Plan) -> Reach | None:
    frame = window.args.get("spec")
    kind = "" if frame is None else str(frame.args.get("kind") or "").upper()
    sides = [] if frame is None else list(_sides(frame))
    if kind not in ("ROWS", "RANGE") or any(side is None for side in sides):
        return None
    found = [side for side in sides if side is not None]
    if kind == "ROWS":
        counts = [_count(bound) for _, bound in found]
        if any(count is None for count in counts) or not _nulls_above(order[0], key, below):
            return None
        return Reach(key, order, sum(count or 0 for count in counts))
    if len(order) != 1 or not _exact(found, key, below):
        return None
    upwards = "PRECEDING" if order[0].args.get("desc") else "FOLLOWING"
    ahead = tuple(bound for side, bound in found if bound is not None and side == upwards)
    return Reach(key, order, 0, tuple(bound for _, bound in found if bound is not None), ahead)


def _sides(frame: exp.Expression) -> Iterator[tuple[str, exp.Expression | None] | None]:
    """Each end of a frame as (side, distance), without a distance for the current row; None where it has no end."""
    for name in ("start", "end"):
        value, side = frame.args.get(name), str(frame.args.get(f"{name}_side") or "").upper()
        if value is None or str(value).upper() == "CURRENT ROW":
            yield "", None
        elif isinstance(value, exp.Expression):
            yield None if _is_negative(value) else (side, value)
        else:
            yield None


def _is_negative(distance: exp.Expression) -> bool:
    node = bare(distance)
    return isinstance(node, exp.Neg) or (isinstance(node, exp.Interval) and str(node.this.name).startswith("-"))


def _count(bound: exp.Expression | None) -> int | None:
    if bound is None:
        return 0
    node = bare(bound)
    return int(node.name) if isinstance(node, exp.Literal) and node.name.isdigit() else None


def _exact(sides: list[tuple[str, exp.Expression | None]], key: exp.Expression, below: Plan) -> bool:
    """Whether the distances can be taken from a line: looking ahead needs arithmetic that can be turned around."""
    if len([bound for _, bound in sides if bound is not None]) <= 1 and not any(
        side == "FOLLOWING" for side, _ in sides
    ):
        return True
    kind = below.field(key.name).type if isinstance(key, exp.Column) and key.name in below.names else None
    texts = [bound.sql().upper() for _, bound in sides if bound is not None]
    return (
        kind is not None and kind not in _FRACTIONAL and not any(unit in text for text in texts for unit in _CALENDAR)
    )


def _nulls_above(item: exp.Ordered, key: exp.Expression, below: Plan) -> bool:
    """Whether rows with NULL, which may always come, stand beside the newest rows and not before the oldest."""
    if isinstance(key, exp.Column) and key.name in below.names and never_null(below, key.name):
        return True
    descending, first = bool(item.args.get("desc")), item.args.get("nulls_first")
    return (not descending if first is None else bool(first)) is descending
