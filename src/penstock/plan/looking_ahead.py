"""Window calls that look ahead to so many rows, and the column that tells when these have come.

SUM(x) OVER (ORDER BY at ROWS BETWEEN 1 PRECEDING AND 2 FOLLOWING)        LEAD(at, 2) OVER (ORDER BY at)
LEAD(x) OVER (PARTITION BY k ORDER BY at)                                 LEAD(at, 1) OVER (PARTITION BY k ORDER BY at)
"""

from __future__ import annotations

from collections.abc import Iterator

from penstock.plan.forms import Aggregated, Call, Constant, Form, Over, Reference
from penstock.plan.nodes import Field, Plan, Window
from penstock.plan.scalar import Scalar, scalar_of


def windows_of(node: Window) -> Iterator[Over]:
    """Every OVER in the calls of a window."""
    for _, call in node.calls:
        yield from (item for item in call.form.walk() if isinstance(item, Over))


def rows_ahead(window: Over) -> int | None:
    """The number of rows after its own that a call looks at; None if it does not go by a number that is written."""
    if window.frame is not None:
        return _to_the_end(window) if window.frame.kind == "rows" else None
    call = window.call
    if call is None or isinstance(window.function, Aggregated) or call.function not in ("lead", "lag"):
        return None
    offset = call.arguments[1] if len(call.arguments) > 1 else Constant("1", "int")
    match offset:
        case Call("-", (distance,)):
            counted, forwards = _count(distance), call.function == "lag"
        case _:
            counted, forwards = _count(offset), call.function == "lead"
    return counted if forwards or counted is None else 0


def furthest_ahead(node: Window) -> tuple[int, Over] | None:
    """The call of a window that looks ahead to the most rows, and how many; None if none does."""
    found = [(rows, window) for window in windows_of(node) if (rows := rows_ahead(window))]
    return max(found, key=lambda item: item[0], default=None)


def looks_ahead(plan: Plan) -> bool:
    """True if a window of the plan looks ahead to rows."""
    return any(isinstance(node, Window) and furthest_ahead(node) is not None for node in plan.walk())


def last_row_ahead(rows: int, window: Over, time: Field) -> Scalar:
    """The time of the last of so many rows ahead in a window that is ordered by that column."""
    call = Call("lead", (Reference(time.name), Constant(str(rows), "int")))
    return scalar_of(Over(call, window.partition, window.order), time.type)


def _to_the_end(window: Over) -> int | None:
    assert window.frame is not None  # noqa: S101 - the caller has asked
    end = window.frame.end
    if end.side != "following":
        return 0
    return None if end.distance is None else _count(end.distance)


def _count(form: Form) -> int | None:
    return int(form.value) if isinstance(form, Constant) and form.value.isdigit() else None
