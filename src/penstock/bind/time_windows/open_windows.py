"""Rows that came before a window of theirs had ended, and the windows that had not: how windows judge (SEMANTICS D)."""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from penstock.bind.judging import Judging
from penstock.bind.time_windows.grids import Ends, Exploded


def timely_in(judging: Judging, time: exp.Expression, windows: Callable[[exp.Expression], Ends]) -> Judging:
    """The rows in windows, of which each row is in one, that end behind its waterline."""
    begin, _ = windows(judging.waterline.copy())
    return judging.timely(exp.GTE(this=time.copy(), expression=begin))


def timely_in_some(judging: Judging, time: exp.Expression, windows: Callable[[exp.Expression], Exploded]) -> Judging:
    """The rows that are in some window which ends behind their waterline."""
    line = windows(judging.waterline.copy())
    if line.earliest is not None:
        return judging.timely(exp.GTE(this=time.copy(), expression=line.earliest))
    own = windows(time)
    _, end = own.ends(own.last)
    return judging.timely(exp.GT(this=end, expression=judging.waterline.copy()))


def open_windows(judging: Judging, element: exp.Expression, windows: Callable[[exp.Expression], Exploded]) -> Judging:
    """The rows beside their windows, of which each has an element, without windows that have ended before they came."""
    line = windows(judging.waterline.copy())
    if line.first is not None:
        return judging.timely(exp.GTE(this=element.copy(), expression=line.first), reports=False)
    _, end = line.ends(element.copy())
    return judging.timely(exp.GT(this=end, expression=judging.waterline.copy()), reports=False)
