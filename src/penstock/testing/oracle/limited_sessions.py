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
    now: tuple[int, int] | None = None  # the first and the last time of the session that is open
    for time, begins, ends in sorted(set(map(tuple, rows))):
        if now is not None and (time - now[1] >= idle or time - now[0] >= most):
            found.append((now[0], min(now[1] + idle, now[0] + most)))
            now = None
        if now is None:
            if brackets and not begins:
                continue
            now = (time + _TICK if brackets[:1] == "(" else time), time
        now = now[0], time
        if brackets and ends:
            found.append((now[0], time + _TICK if brackets[1] == "]" else time))
            now = None
    return found if now is None else [*found, (now[0], min(now[1] + idle, now[0] + most))]


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
