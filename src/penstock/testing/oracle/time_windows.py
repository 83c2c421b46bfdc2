"""The oracle's reading of windows of time: every row beside its windows, by arithmetic on microseconds since 1970.

    TUMBLE(t, size, align)        the one window that begins at or before t
    HOP(t, slide, size, align)    all windows whose half-open range holds t
    CUMULATE(t, step, size, …)    the windows of the enclosing `size` that have grown past t
    SESSION(t, keys, gap)         rows of a key that follow each other by less than the gap: lag(), then SUM()

Rows without a time are in no window. In a zone whose clocks change, windows of more than an hour are counted in what
the clock shows, shorter ones in elapsed time from where the clock stands.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NoReturn

from sqlglot import exp

from penstock.catalog.reserved import ARRIVED, OF_ARRIVAL, POSITION
from penstock.catalog.zones import clocks_change, origin_offset
from penstock.errors import Diagnostic, UnsupportedError
from penstock.sql.nodes import TableFunction
from penstock.sql.parse import parse_query
from penstock.sql.text import spark_sql
from penstock.testing.oracle.judged import in_time, judging_table, kept_of
from penstock.testing.oracle.limited_sessions import limited_sessions
from penstock.testing.oracle.row_order import call, name_of

_MICROS = {"MICROSECOND": 1, "MILLISECOND": 1_000, "SECOND": 1_000_000, "MINUTE": 60_000_000}
_UNITS = _MICROS | {"HOUR": 3_600_000_000, "DAY": 86_400_000_000, "WEEK": 7 * 86_400_000_000}
_MONTHS = {"MONTH": 1, "QUARTER": 3, "YEAR": 12}
START, END = "window_start", "window_end"
_NAMED = ("DATA", "TIMECOL", "KEY", "SLIDE", "STEP", "HOP", "SIZE", "GAP", "OFFSET")
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
    amount = "" if length.this is None else spark_sql(length.this).strip("'")
    if not isinstance(length, exp.Interval) or unit is None or isinstance(unit, exp.IntervalSpan):
        cannot_say("a window whose length is not a simple interval")
    try:
        return int(amount) * _UNITS[unit.name.upper().removesuffix("S")]
    except (KeyError, ValueError):
        return cannot_say("a window whose length is not a simple interval")


def months(length: exp.Expression) -> int:
    """A constant number of months or years in months; 0 for any other length."""
    unit = length.args.get("unit")
    count = _MONTHS.get("" if unit is None else str(unit.name).upper().removesuffix("S"), 0)
    return int(spark_sql(length.this).strip("'")) * count if count else 0


def _month(time: str, count: int, further: int) -> str:
    """The beginning of the months that a time lies in, counted by so many from January 1970, or one further on."""
    passed = f"floor((12 * (year({time}) - 1970) + month({time}) - 1) / {count}) * {count} + {further}"
    return f"CAST(add_months(DATE '1970-01-01', CAST({passed} AS INT)) AS TIMESTAMP)"


@dataclass(frozen=True)
class Reading:
    """The reading of windows in one pipeline: its time zone, and the time column of each stream that declares one."""

    zone: str = "UTC"
    times: Mapping[str, str] = field(default_factory=dict)
    with_time: bool = False  # Flink's third column, window_time
    limited: bool = False  # Timeplus: a session is no longer than five times its idle time
    judged: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # tables whose rows windows judge, by what


def window_table(function: TableFunction, reading: Reading) -> exp.Expression:
    """A window function in FROM as a subquery with window_start and window_end (and Flink's window_time)."""
    kind = function.name.lower()
    arguments = [item.expression if isinstance(item, exp.Kwarg) else item for item in function.expressions]
    if kind == "table":
        return exp.Subquery(
            this=parse_query(f"SELECT * FROM {spark_sql(arguments[0])}"), alias=function.args.get("alias")
        )
    if kind in ("changelog", "dedup"):
        return exp.Subquery(this=_by_arrival(kind, arguments), alias=function.args.get("alias"))
    relation, time, rest = spark_sql(arguments[0]), _time(arguments, reading), arguments[1:]
    arrived = reading.limited and name_of(arguments[1]) == "now" if len(arguments) > 1 else False
    if arrived:
        relation, time = arrivals_of(arguments[0].find(exp.Table).name), ARRIVED
    judged = judging_table(function, reading.judged)
    if judged is not None:
        relation = kept_of(judged[0])
    if rest and not isinstance(rest[0], exp.Interval):
        rest = rest[1:]
    if kind == "session":
        text = _session(relation, time, function, rest, reading)
    else:
        zone = reading.zone
        if rest and isinstance(rest[-1], exp.Literal) and rest[-1].is_string:
            zone = rest.pop().name
        count = months(rest[0]) if kind == "tumble" and rest else 0
        ends = ", ".join(f"{_month(time, count, more)} AS {end}" for more, end in ((0, START), (count, END)))
        by_months = f"SELECT *, {ends} FROM {relation} WHERE {time} IS NOT NULL" if count else None
        text = by_months or _fixed(relation, time, kind, [micros(item) for item in rest], zone)
        if judged is not None:
            text = in_time(text, judged[1])
    ended = ", window_end - INTERVAL '1' MILLISECOND AS window_time" if reading.with_time else ""
    shown = f" EXCEPT ({', '.join(sorted(OF_ARRIVAL))})" if arrived else ended
    query = parse_query(f"SELECT *{shown} FROM ({text})")
    return exp.Subquery(this=query, alias=function.args.get("alias"), joins=function.args.get("joins"))


def _by_arrival(kind: str, arguments: list[exp.Expression]) -> exp.Expression:
    """Changelog or dedup of a stream without limits: the last or first row of each key, or that of the last version."""
    keys, table = arguments[1:], arguments[0].find(exp.Table)
    if not keys:
        return parse_query(f"SELECT * FROM {spark_sql(arguments[0])}")
    if table is None or any(isinstance(item, exp.Interval) for item in keys):
        cannot_say(f"{kind} of that")
    versioned = kind == "changelog" and isinstance(keys[-1], exp.Boolean) and bool(keys[-1].this)
    keys = [item for item in keys if not isinstance(item, exp.Boolean)]
    version = f"{spark_sql(keys.pop())} DESC NULLS LAST, " if versioned else ""
    order = f"{version}{POSITION} {'DESC' if kind == 'changelog' else 'ASC'}"
    numbered = f"row_number() OVER (PARTITION BY {', '.join(map(spark_sql, keys))} ORDER BY {order}) AS __number"
    shown = f"* EXCEPT ({', '.join(sorted(OF_ARRIVAL))}, __number)"
    source = _with_arrivals(arguments[0], table)
    return parse_query(f"SELECT {shown} FROM (SELECT *, {numbered} FROM {source}) WHERE __number = 1")


def _with_arrivals(relation: exp.Expression, table: exp.Table) -> str:
    """The rows of a stream with the columns of their arrival, within a window function's subquery or as they are."""
    inner = relation.this if isinstance(relation, exp.Subquery) else None
    if not isinstance(inner, exp.Select) or not isinstance(inner.expressions[0], exp.Star):
        return arrivals_of(table.name)
    if any(inner.expressions[0].args.values()):
        cannot_say("arrival through windows by the clock")
    return spark_sql(_over_arrivals(relation, table))


def _over_arrivals(relation: exp.Expression, table: exp.Table) -> exp.Expression:
    """The relation over what holds the stream's rows with their arrival."""
    copy: exp.Expression = relation.copy()
    for found in list(copy.find_all(exp.Table)):
        if found.name == table.name:
            found.replace(exp.to_table(arrivals_of(table.name)))
    return copy


def arrivals_of(relation: str) -> str:
    """The relation that holds a stream's rows with the hidden column of when they arrived."""
    return f"{ARRIVED}_{relation.lower()}"


def _in_order(function: TableFunction) -> list[exp.Expression]:
    """Named arguments in the places of unnamed ones."""

    def place(item: exp.Expression) -> int:
        return _NAMED.index(item.this.name.upper()) if isinstance(item, exp.Kwarg) else -1

    return sorted(function.expressions, key=place)


def _time(arguments: list[exp.Expression], reading: Reading) -> str:
    if len(arguments) > 1 and name_of(arguments[1]) == "descriptor":
        return spark_sql(arguments[1].expressions[0])
    if len(arguments) > 1 and not isinstance(arguments[1], exp.Interval):
        return spark_sql(arguments[1])
    source = arguments[0].find(exp.Table)
    return reading.times.get("" if source is None else source.name.lower(), "_tp_time")


def _windows(kind: str, lengths: list[int], zone: str) -> tuple[str, bool]:
    """The windows of a row as an array of structs (s, e), which may hold some that do not contain its time.

    They are in microseconds since 1970, of elapsed time or (the second value) of what the zone's clock shows.
    """
    counts = {"tumble": 1, "hop": 2, "cumulate": 2}
    if kind not in counts or not counts[kind] <= len(lengths) <= counts[kind] + 1:
        cannot_say(f"{kind.upper()} with these arguments")
    offset = lengths[counts[kind]] if len(lengths) > counts[kind] else 0
    slide, size = lengths[0], lengths[counts[kind] - 1]
    step = size if kind == "cumulate" else slide
    by_clock = clocks_change(zone) and step % _UNITS["HOUR"] == 0 and step > _UNITS["HOUR"]
    by_clock = by_clock and (step % _UNITS["DAY"] == 0 or _UNITS["DAY"] % step == 0)
    hourly = clocks_change(zone) and _UNITS["HOUR"] % step == 0
    now = "(__m + __o)" if by_clock else "__m"
    shown = "__m + __o" if by_clock or hourly else f"__m + {origin_offset(zone)}"
    last = f"({now} - pmod({shown} - {offset}, {step}))"
    if kind == "cumulate":
        window = f"named_struct('s', {last}, 'e', {last} + CAST(i AS BIGINT) * {slide})"
        return f"transform(sequence(1, {size // slide}), i -> {window})", by_clock
    begins = f"transform(sequence(0, {size // slide}), i -> {last} - CAST(i AS BIGINT) * {slide})"
    return f"transform({begins}, b -> named_struct('s', b, 'e', b + {size}))", by_clock


def _fixed(relation: str, time: str, kind: str, lengths: list[int], zone: str) -> str:
    windows, by_clock = _windows(kind, lengths, zone)
    moment = f"CAST({time} AS TIMESTAMP)"
    shown = f"unix_micros(from_utc_timestamp({moment}, '{zone}')) - unix_micros({moment}) AS __o"
    timed = f"SELECT *, unix_micros({moment}) AS __m, {shown} FROM {relation}"
    now = "__m + __o" if by_clock else "__m"
    inside = f"filter({windows}, w -> w.s <= {now} AND w.e > {now})"
    exploded = f"SELECT *, explode({inside}) AS __w FROM ({timed}) WHERE __m IS NOT NULL"
    ends = [f"timestamp_micros(__w.{end})" for end in "se"]
    if by_clock:
        ends = [f"to_utc_timestamp({end}, '{zone}')" for end in ends]
    return f"SELECT * EXCEPT (__m, __o, __w), {ends[0]} AS window_start, {ends[1]} AS window_end FROM ({exploded})"


def _session(
    relation: str, time: str, function: TableFunction, arguments: list[exp.Expression], reading: Reading
) -> str:
    keys = list(function.args.get("partition_by") or [])
    if name_of(arguments[0]) == "descriptor":
        keys += arguments.pop(0).expressions
    bounds = arguments.pop() if name_of(arguments[-1]) == "session_range" else None
    if bounds is None and not isinstance(arguments[-1], exp.Interval):  # begin, end: both are in the session
        bounds = call("session_range", *arguments[-2:], exp.true(), exp.true())
        del arguments[-2:]
    gap, *further = [micros(item) for item in arguments]
    listed = ", ".join(spark_sql(key) for key in keys) or "1"
    timed = f"SELECT *, unix_micros(CAST({time} AS TIMESTAMP)) AS __m FROM {relation}"
    longest = further[0] if further else 5 * gap if reading.limited else None
    if longest is not None or bounds is not None:
        return limited_sessions(timed, listed, gap, longest, bounds)
    over = f"OVER (PARTITION BY {listed} ORDER BY __m"
    begins = f"SELECT *, IF(__m - lag(__m) {over}) < {gap}, 0, 1) AS __new FROM ({timed}) WHERE __m IS NOT NULL"
    numbered = f"SELECT *, SUM(__new) {over} RANGE UNBOUNDED PRECEDING) AS __s FROM ({begins})"
    whole = f"OVER (PARTITION BY {listed}, __s)"
    ends = (
        f"timestamp_micros(MIN(__m) {whole}) AS window_start, timestamp_micros(MAX(__m) {whole} + {gap}) AS window_end"
    )
    return f"SELECT * EXCEPT (__m, __new, __s), {ends} FROM ({numbered})"


def group_windows(select: exp.Select, zone: str = "UTC") -> None:
    """GROUP BY TUMBLE, HOP or SESSION is Spark's window() or session_window(); the auxiliary functions are its ends."""
    group = select.args.get("group")
    found = [item for item in (group.find_all(exp.Anonymous) if group else []) if name_of(item) in _GROUPED]
    if found and clocks_change(zone):
        cannot_say(f"group windows of time in {zone}, whose clocks change")
    for item in found:
        if name_of(item) == "tumble" and months(item.expressions[1]):
            select.where(exp.Not(this=exp.Is(this=item.expressions[0].copy(), expression=exp.Null())), copy=False)
        item.replace(_spark_window(item, name_of(item), zone))
    if not found:
        return
    for node in list(select.find_all(exp.Anonymous)):
        base, _, end = name_of(node).rpartition("_")
        if base in _GROUPED and end in ("start", "end", "rowtime"):
            of_window = exp.to_identifier("start" if end == "start" else "end")
            made: exp.Expression = exp.Dot(this=_spark_window(node, base, zone), expression=of_window)
            if base == "session" and end != "start":
                made = exp.Paren(this=exp.Add(this=made, expression=parse_expression("INTERVAL '1' MICROSECOND")))
            if end == "rowtime":
                made = exp.Paren(this=exp.Sub(this=made, expression=parse_expression("INTERVAL '1' MILLISECOND")))
            node.replace(made)


def parse_expression(text: str) -> exp.Expression:
    """One expression as it stands in a query."""
    found: exp.Expression = parse_query(f"SELECT {text}").expressions[0]
    return found


def _spark_window(node: exp.Expression, kind: str, zone: str) -> exp.Expression:
    """`window(t, size, slide, align)`; HOP's arguments are slide, then size."""
    time, *lengths = node.expressions
    if kind == "tumble" and (count := months(lengths[0])):
        ends = (_month(spark_sql(time), count, further) for further in (0, count))
        return parse_expression("named_struct('start', {}, 'end', {})".format(*ends))
    given = [micros(length) for length in lengths]
    if kind == "session":
        # Spark joins rows that are just a gap apart, SESSION does not: a microsecond, which the end gets back.
        return call("session_window", time.copy(), _length(given[0] - 1))
    size, slide = (given[0], given[0]) if kind == "tumble" else (given[1], given[0])
    count = 1 if kind == "tumble" else 2
    align = (given[count] if len(given) > count else 0) - origin_offset(zone)
    return call("window", time.copy(), *map(_length, (size, slide, align % slide)))


def _length(count: int) -> exp.Expression:
    return exp.Literal.string(f"{count} microseconds")
