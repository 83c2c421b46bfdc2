"""The oracle's reading of windows of time: every row beside its windows, by arithmetic on microseconds since 1970.

    TUMBLE(t, size, align)        the one window that begins at or before t
    HOP(t, slide, size, align)    all windows whose half-open range holds t
    CUMULATE(t, step, size, …)    the windows of the enclosing `size` that have grown past t
    SESSION(t, keys, gap)         rows of a key that follow each other by less than the gap: lag(), then SUM()

Rows without a time are in no window.
"""

from __future__ import annotations

from typing import NoReturn

from sqlglot import exp

from penstock.errors import Diagnostic, UnsupportedError
from penstock.sql.nodes import TableFunction
from penstock.sql.parse import parse_query
from penstock.sql.text import spark_sql
from penstock.testing.order import call, name_of

_MICROS = {"MICROSECOND": 1, "MILLISECOND": 1_000, "SECOND": 1_000_000, "MINUTE": 60_000_000}
_UNITS = _MICROS | {"HOUR": 3_600_000_000, "DAY": 86_400_000_000, "WEEK": 7 * 86_400_000_000}
_GROUPED = ("tumble", "hop", "session")


def cannot_say(what: str) -> NoReturn:
    """Raise the UnsupportedError of a construct that the oracle cannot put into Spark's words."""
    hint = "Give the case `invariant: <reason>`, and expectations by hand."
    raise UnsupportedError(Diagnostic("ORACLE_UNSUPPORTED", f"the oracle has no words for {what}", hint=hint))


def micros(length: exp.Expression) -> int:
    """A constant interval, or the alignment TIME 'hh:mm[:ss]', in microseconds."""
    if isinstance(length, exp.Neg | exp.Paren):
        return micros(length.this) * (-1 if isinstance(length, exp.Neg) else 1)
    if isinstance(length, exp.Cast) and isinstance(length.this, exp.Literal):
        hours, minutes, seconds = (*map(int, length.this.name.split(":")), 0)[:3]
        return ((hours * 60 + minutes) * 60 + seconds) * 1_000_000
    unit = length.args.get("unit")
    if not isinstance(length, exp.Interval) or unit is None or isinstance(unit, exp.IntervalSpan):
        cannot_say("a window whose length is not a simple interval")
    try:
        return int(length.this.name) * _UNITS[unit.name.upper().removesuffix("S")]
    except (KeyError, ValueError):
        return cannot_say("a window whose length is not a simple interval")


def window_table(function: TableFunction, *, with_time: bool) -> exp.Expression:
    """A window function in FROM as a subquery with window_start and window_end (and Flink's window_time)."""
    kind = function.name.lower()
    arguments = [item.expression if isinstance(item, exp.Kwarg) else item for item in function.expressions]
    if len(arguments) < 3 or name_of(arguments[1]) != "descriptor":  # noqa: PLR2004 - relation, time, length
        cannot_say(f"{kind.upper()} with these arguments")
    relation, time = spark_sql(arguments[0]), spark_sql(arguments[1].expressions[0])
    if kind == "session":
        text = _session(relation, time, function, arguments)
    else:
        text = _fixed(relation, time, _windows(kind, [micros(item) for item in arguments[2:]]))
    ended = ", window_end - INTERVAL '1' MILLISECOND AS window_time" if with_time else ""
    query = parse_query(f"SELECT *{ended} FROM ({text})")
    return exp.Subquery(this=query, alias=function.args.get("alias"), joins=function.args.get("joins"))


def _windows(kind: str, lengths: list[int]) -> str:
    """The windows of the time `__m` as an array of structs (s, e); it may hold some that do not contain the time."""
    counts = {"tumble": 1, "hop": 2, "cumulate": 2}
    if kind not in counts or not counts[kind] <= len(lengths) <= counts[kind] + 1:
        cannot_say(f"{kind.upper()} with these arguments")
    offset = lengths[counts[kind]] if len(lengths) > counts[kind] else 0
    slide, size = lengths[0], lengths[counts[kind] - 1]
    if kind == "cumulate":
        begin = f"(__m - pmod(__m - {offset}, {size}))"
        window = f"named_struct('s', {begin}, 'e', {begin} + CAST(i AS BIGINT) * {slide})"
        return f"transform(sequence(1, {size // slide}), i -> {window})"
    last = f"(__m - pmod(__m - {offset}, {slide}))"
    begins = f"transform(sequence(0, {size // slide}), i -> {last} - CAST(i AS BIGINT) * {slide})"
    return f"transform({begins}, b -> named_struct('s', b, 'e', b + {size}))"


def _fixed(relation: str, time: str, windows: str) -> str:
    timed = f"SELECT *, unix_micros(CAST({time} AS TIMESTAMP)) AS __m FROM {relation}"
    inside = f"filter({windows}, w -> w.s <= __m AND w.e > __m)"
    exploded = f"SELECT *, explode({inside}) AS __w FROM ({timed}) WHERE __m IS NOT NULL"
    ends = "timestamp_micros(__w.s) AS window_start, timestamp_micros(__w.e) AS window_end"
    return f"SELECT * EXCEPT (__m, __w), {ends} FROM ({exploded})"


def _session(relation: str, time: str, function: TableFunction, arguments: list[exp.Expression]) -> str:
    keys = list(function.args.get("partition_by") or [])
    if name_of(arguments[2]) == "descriptor":
        keys += arguments[2].expressions
    gap = micros(arguments[-1])
    listed = ", ".join(spark_sql(key) for key in keys) or "1"
    timed = f"SELECT *, unix_micros(CAST({time} AS TIMESTAMP)) AS __m FROM {relation}"
    over = f"OVER (PARTITION BY {listed} ORDER BY __m"
    begins = f"SELECT *, IF(__m - lag(__m) {over}) < {gap}, 0, 1) AS __new FROM ({timed}) WHERE __m IS NOT NULL"
    numbered = f"SELECT *, SUM(__new) {over} RANGE UNBOUNDED PRECEDING) AS __s FROM ({begins})"
    whole = f"OVER (PARTITION BY {listed}, __s)"
    ends = (
        f"timestamp_micros(MIN(__m) {whole}) AS window_start, timestamp_micros(MAX(__m) {whole} + {gap}) AS window_end"
    )
    return f"SELECT * EXCEPT (__m, __new, __s), {ends} FROM ({numbered})"


def group_windows(select: exp.Select) -> None:
    """GROUP BY TUMBLE, HOP or SESSION is Spark's window() or session_window(); the auxiliary functions are its ends."""
    group = select.args.get("group")
    found = [item for item in (group.expressions if group else []) if name_of(item) in _GROUPED]
    for item in found:
        item.replace(_spark_window(item, name_of(item)))
    if not found:
        return
    for node in list(select.find_all(exp.Anonymous)):
        base, _, end = name_of(node).rpartition("_")
        if base in _GROUPED and end in ("start", "end"):
            node.replace(exp.Dot(this=_spark_window(node, base), expression=exp.to_identifier(end)))


def _spark_window(node: exp.Expression, kind: str) -> exp.Expression:
    """`window(t, size, slide, align)`; HOP's arguments are slide, then size."""
    time, *lengths = node.expressions
    texts = [exp.Literal.string(f"{micros(length)} microseconds") for length in lengths]
    if kind == "session":
        return call("session_window", time.copy(), *texts)
    ordered = [texts[0], texts[0], *texts[1:]] if kind == "tumble" else [texts[1], texts[0], *texts[2:]]
    return call("window", time.copy(), *ordered)
