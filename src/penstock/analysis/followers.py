"""The column that tells when the rows to which a window looks ahead have come: the time of the last of them.

A later row stands behind all rows below the waterline of the time. Where it comes within the reach of a row, the time
in that column is its own or a greater one, before it came as well as after. So the column has the waterline of the
time: below it nothing changes. It is NULL for a row that has fewer rows behind it yet.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from penstock.analysis.looking_back import ordered_by, sees_no_later_row
from penstock.plan.forms import Call, Constant, Form, Ordering, Over, Reference
from penstock.plan.looking_ahead import rows_ahead, windows_of
from penstock.plan.nodes import Window


@dataclass(frozen=True)
class _Ahead:
    """The number of rows to which the calls of a window look ahead at most, in one order that begins with a column."""

    time: str
    order: tuple[Ordering, ...]
    rows: int


def told_by(node: Window) -> Iterator[tuple[str, str]]:
    """The columns that tell when all that is looked ahead to has come, each with the column whose values it has."""
    ahead = _ahead_of(node)
    if ahead is not None:
        yield from ((name, ahead.time) for name, call in node.calls if _tells(call.form, ahead))


def _ahead_of(node: Window) -> _Ahead | None:
    """The rows that the calls look ahead to; None if they look at none, or on without end, or in several orders."""
    windows = list(windows_of(node))
    reaches = [0 if sees_no_later_row(item) else rows_ahead(item) for item in windows]
    counts = [rows for rows in reaches if rows is not None]
    times = {ordered_by(item, node.input) for item in windows}
    orders = {item.order for item, rows in zip(windows, reaches, strict=True) if rows}
    time = times.pop() if len(times) == 1 else None
    if len(counts) < len(reaches) or time is None or len(orders) != 1:
        return None
    return _Ahead(time, orders.pop(), max(counts))


def _tells(form: Form, ahead: _Ahead) -> bool:
    match form:
        case Over(Call("lead", (Reference(name), *offset)), order=order, frame=None):
            counted = offset == [Constant(str(ahead.rows), "int")] or (not offset and ahead.rows == 1)
            return counted and name == ahead.time and order == ahead.order
        case _:
            return False
