"""The oracle's own sessions with a longest length or bounds: one walk over all rows of a key, in Python."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from penstock.sql.text import spark_sql

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from sqlglot import exp

FUNCTION = "penstock_sessions"
_TICK = 1000
_NEVER = 1 << 62
_TYPE = "array<struct<s: bigint, e: bigint>>"


def sessions_of(
    rows: Sequence[tuple[int, bool, bool]], idle: int, longest: int | None, brackets: str
) -> list[tuple[int, int]]:
    """The sessions of the rows (time, whether it begins one, whether it ends one), in microseconds.

    `brackets` are those around the bounds, such as '[)'; '' without bounds.
    """
    most = _NEVER if longest is None else longest
    found: list[tuple[int, int]] = []
    opened: int | None = None  # when the row came that began the session that is open
    inside: list[int] = []  # the times of its rows
    last = 0

    def close(end: int) -> None:
        nonlocal opened
        opened = None
        if inside:
            found.append((inside[0], end))
        inside.clear()

    for time, begins, ends in sorted(set(map(tuple, rows))):
        if opened is not None and (time - last >= idle or time - opened >= most):
            close(min(last + idle, opened + most))
        elif opened is not None and brackets and ends:
            inside.extend([time] if brackets[1] == "]" else [])
            close(time + _TICK if brackets[1] == "]" else time)
        elif opened is not None:
            inside.append(time)
        if opened is None and (begins or not brackets):
            opened = time
            inside.extend([] if brackets[:1] == "(" else [time])
        last = time
    if opened is not None:
        close(min(last + idle, opened + most))
    return found


def limited_sessions(timed: str, keys: str, idle: int, longest: int | None, bounds: exp.Expression | None) -> str:
    """The rows of `timed` (with `__m`, their time) that are in a session, with its ends."""
    flags, brackets = "false, false", ""
    if bounds is not None:
        begin, end, with_begin, with_end = bounds.expressions
        flags = ", ".join(f"coalesce({spark_sql(item)}, false)" for item in (begin, end))
        brackets = ("[" if with_begin.this else "(") + ("]" if with_end.this else ")")
    given = f"{idle}L, {'CAST(NULL AS BIGINT)' if longest is None else f'{longest}L'}, '{brackets}'"
    listed = f"SELECT *, collect_list(struct(__m, {flags})) OVER (PARTITION BY {keys}) AS __all FROM ({timed})"
    walked = f"SELECT *, {FUNCTION}(__all, {given}) AS __found FROM ({listed} WHERE __m IS NOT NULL)"
    inside = f"SELECT *, explode(filter(__found, w -> w.s <= __m AND __m < w.e)) AS __w FROM ({walked})"
    ends = ", ".join(f"timestamp_micros(__w.{part}) AS window_{name}" for part, name in (("s", "start"), ("e", "end")))
    return f"SELECT * EXCEPT (__m, __all, __found, __w), {ends} FROM ({inside})"


def register(session: SparkSession) -> None:
    """Make the function known to a session."""
    session.udf.register(FUNCTION, sessions_of, _TYPE)
