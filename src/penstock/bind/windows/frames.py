"""Frames of OVER: one whose start lies behind its end has no rows, ever, and is refused.

    ROWS BETWEEN 1 FOLLOWING AND CURRENT ROW      ROWS BETWEEN 1 PRECEDING AND 3 PRECEDING

Both ends are places on one line, which goes from UNBOUNDED PRECEDING by way of CURRENT ROW, the place 0, to UNBOUNDED
FOLLOWING; `-1 PRECEDING` is the place 1, as in Spark. Spark compares two distances only, and gives no row to a frame
between a distance and CURRENT ROW that lies the wrong way round; SQL and PostgreSQL refuse that as well.
"""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from math import inf

from sqlglot import exp

from penstock.errors import SqlError
from penstock.sql.complaints import wrong
from penstock.sql.trees import bare
from penstock.types.durations import duration_of, micros_of

_CURRENT, _UNBOUNDED, _PRECEDING = "CURRENT ROW", "UNBOUNDED", "PRECEDING"
Position = tuple[
    str, Decimal | float
]  # the unit of a distance ('' for a number and where there is none), and the place


def settled_frame(node: exp.Window) -> exp.Window:
    """The call with a distance of nothing as CURRENT ROW; raises SqlError for a frame that can have no rows."""
    spec = node.args.get("spec")
    if spec is None:
        return node
    ends = {key: _position(spec, key) for key in ("start", "end")}
    _check(ends["start"], ends["end"], spec, node)
    zeros = [
        key for key, (unit, place) in ends.items() if place == 0 and spec.args.get(key) != _CURRENT and unit != "?"
    ]
    if not zeros:
        return node
    copy = node.copy()
    for key in zeros:
        copy.args["spec"].set(key, _CURRENT)
        copy.args["spec"].set(f"{key}_side", None)
    return copy


def _check(start: Position, end: Position, spec: exp.WindowSpec, node: exp.Window) -> None:
    if _is_behind(start, end):
        message = f"the frame {_text(spec)} has no rows: its start lies behind its end"
        hint = "the start comes first: UNBOUNDED PRECEDING, n PRECEDING, CURRENT ROW, n FOLLOWING, UNBOUNDED FOLLOWING"
        raise wrong(code="EMPTY_FRAME", message=message, place=node, hint=hint, sqlstate="42P20")
    if inf in (start[1], -end[1]):
        side = "begins with UNBOUNDED FOLLOWING" if start[1] == inf else "ends with UNBOUNDED PRECEDING"
        message = f"the frame {_text(spec)} has no rows: it {side}"
        raise wrong(code="EMPTY_FRAME", message=message, place=node, hint="swap the two ends", sqlstate="42P20")


def _is_behind(start: Position, end: Position) -> bool:
    """True where it is certain: distances of one unit, or on two sides of CURRENT ROW."""
    if start[0] == end[0] != "?" or 0 in (start[1], end[1]) or inf in map(abs, (start[1], end[1])):
        return start[1] > end[1]
    return start[1] > 0 > end[1]


def _position(spec: exp.WindowSpec, key: str) -> Position:
    value, side = spec.args.get(key), spec.args.get(f"{key}_side")
    if value is None or value == _CURRENT:  # a frame of one end ends with CURRENT ROW
        return "", Decimal(0)
    sign = -1 if side == _PRECEDING else 1
    if value == _UNBOUNDED:
        return "", sign * inf
    unit, distance = _distance(bare(value))
    return unit, sign * distance


def _distance(tree: exp.Expression) -> Position:
    """A distance as it is written; one that is not known counts as some distance, of a unit of its own ('?')."""
    if isinstance(tree, exp.Neg):
        unit, place = _distance(bare(tree.this))
        return unit, -place
    try:
        if isinstance(tree, exp.Literal):
            return "", Decimal(tree.name)
        if isinstance(tree, exp.Interval):
            text = str(tree.this.name)
            if not text.strip("+-0. "):
                return "micros", Decimal(0)
            months = 0 if text.startswith("-") else duration_of(tree).months
            return ("months", Decimal(months)) if months else ("micros", Decimal(micros_of(tree)))
    except (SqlError, InvalidOperation):
        pass
    return "?", Decimal(1)


def _text(spec: exp.WindowSpec) -> str:
    ends = (
        " ".join(str(part.sql() if isinstance(part, exp.Expression) else part) for part in pair if part)
        for pair in (
            (spec.args.get("start"), spec.args.get("start_side")),
            (spec.args.get("end") or _CURRENT, spec.args.get("end_side")),
        )
    )
    return f"{spec.args.get('kind')} BETWEEN {' AND '.join(ends)}"
