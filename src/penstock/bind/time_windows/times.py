"""The time of a row, and where its windows begin: what all windows of time ask."""

from __future__ import annotations

import re

from sqlglot import exp

from penstock.bind.level import Level
from penstock.bind.scalars import fields_of, scalar_of
from penstock.bind.taking_in import Windows
from penstock.bind.time_windows.grids import Grid
from penstock.catalog.model import EVENT_TIME
from penstock.catalog.reserved import ARRIVED
from penstock.catalog.zones import near_zones, zone_named
from penstock.plan.nodes import Filter, Plan, Project
from penstock.plan.scalar import column, column_tree
from penstock.sql.complaints import wrong
from penstock.sql.nodes import TableFunction
from penstock.sql.text import spark_sql
from penstock.sql.trees import call_name, data_type
from penstock.types.durations import Duration, micros_of

START, END, TIME = "window_start", "window_end", "window_time"
_TIMES = ("timestamp", "timestamp_ntz", "timestamp_ltz", "date", "void")
_DECLARED = "event_time_column"
_COMPUTED = "__window_time"
_ZERO = re.compile(r"[0:. ]*0[0:. ]*")


def with_time(plan: Plan, time: exp.Expression) -> Plan:
    """The rows that have a time."""
    fields = fields_of(plan)
    if not scalar_of(time, fields).nullable:
        return plan
    there = exp.Not(this=exp.Is(this=exp.Paren(this=time.copy()), expression=exp.Null()))
    return Filter(plan, scalar_of(there, fields))


def window_time(tree: exp.Expression, level: Level, *, from_text: bool = False) -> exp.Expression:
    """The bound time of a window; SqlError where it is known to be no time.

    `from_text` reads a STRING as a TIMESTAMP, as Spark's own functions do.
    """
    time = level.bind(tree)
    kind = level.scalar(time).type
    if kind == "string" and from_text:
        return exp.Cast(this=time, to=data_type("timestamp"))
    if kind is not None and kind not in _TIMES:
        message = f"a window needs a TIMESTAMP or a DATE, and {spark_sql(tree)} is {kind.upper()}"
        hint = "timestamp_seconds, timestamp_millis and to_timestamp make one"
        raise wrong(code="WINDOW_TIME", message=message, place=tree, hint=hint)
    return time


def windows_of(name: str, lengths: list[Duration], grid: Grid) -> Windows:
    """The windows as a waterline sees them; those of other zones and alignments close at times of their own."""
    if name.lower().startswith("session"):
        return Windows(lengths[0].micros)
    length = None if any(item.months for item in lengths) else lengths[-1].micros
    aligned = grid.zone == grid.session == "UTC" and grid.moment is None and name.lower() != "cumulate"
    return Windows(length, lengths[0].micros, grid.offset, aligned)


def refuse_own_months(name: str, lengths: list[Duration], place: exp.Expression, *, keeps: bool) -> None:
    """A query that `keeps` a waterline of its own for windows has to know how long they are."""
    if keeps and any(item.months for item in lengths):
        message = f"{name} of months, which have no fixed length, in a query that keeps its own waterline"
        hint = "write it in days"
        raise wrong(code="NOT_AN_INTERVAL", message=message, place=place, hint=hint)


def refuse_gaps(name: str, lengths: list[Duration], place: exp.Expression) -> None:
    """Between windows that are shorter than the way to the next one, rows would be lost."""
    slide, size = lengths
    if (slide.months, slide.micros) > (size.months, size.micros):
        word = "slide" if name.lower() != "cumulate" else "step"
        message = f"{name.upper()} with a {word} that is larger than its size would lose the rows between two windows"
        hint = f"it is written {name.upper()}(…, {word}, size); WHERE leaves rows out"
        raise wrong(code="WINDOW_ARGUMENTS", message=message, place=place, hint=hint)


def time_of_rows(
    tree: exp.Expression | None, relation: exp.Expression, place: exp.Expression, level: Level
) -> exp.Expression:
    """The bound time of a relation's rows: a column, or in dialect timeplus for `now()` when each arrived (E8)."""
    if tree is None:
        return event_time(relation, place, level)
    if call_name(tree) != "now" or level.context.catalog.settings.get("dialect") != "timeplus":
        return window_time(tree, level)
    found = level.scope.resolve([ARRIVED], place)
    if found is not None:
        return found
    message = f"{spark_sql(tree)} as the time of a window is when a row arrived, which this relation does not keep"
    hint = "streams and tables with a key keep it; of other relations name a column"
    raise wrong(code="WINDOW_TIME", message=message, place=tree, hint=hint)


def as_column(plan: Plan, time: exp.Expression, level: Level) -> tuple[Plan, exp.Expression]:
    """The time as a column of the rows, where a query that stands keeps a waterline for it and it is computed."""
    taking_in = level.context.taking_in
    if taking_in is None or taking_in.delay is None or isinstance(time.unnest(), exp.Column):
        return plan, time
    moment = scalar_of(time, fields_of(plan))
    kept = tuple((item.name, column(item.name, item.type, item.nullable)) for item in plan.fields)
    found = Project(plan, (*kept, (_COMPUTED, moment)))
    level.remember_fields(found)
    return found, column_tree(_COMPUTED)


def event_time(relation: exp.Expression, place: exp.Expression, level: Level) -> exp.Expression:
    """The time column of a relation whose window names none: that of `event_time_column`, or `_tp_time`."""
    inner = relation
    while isinstance(inner, TableFunction):
        inner = inner.expressions[0]
    table = level.context.catalog.tables.get(inner.name.lower()) if isinstance(inner, exp.Table) else None
    declared = None if table is None else table.properties.get(_DECLARED)
    for name in (declared, EVENT_TIME):
        found = None if name is None else level.scope.resolve([name], place)
        if found is not None:
            return found
    message = f"{place.name} names no time column, and its relation has no event_time_column"
    hint = "name it behind the relation, or CREATE STREAM … SETTINGS event_time_column = 'ts'"
    raise wrong(code="WINDOW_ARGUMENTS", message=message, place=place, hint=hint)


def grid_of(offset: exp.Expression | None, zone: exp.Expression | None, level: Level) -> Grid:
    """The grid of windows in the pipeline's time zone or another one, moved by an interval, a TIME or to a moment."""
    session = level.context.catalog.settings.get("time zone", "UTC")
    name = session if zone is None else str(zone.name)
    if zone_named(name) is None:
        message = f"there is no time zone {name[:100]!r}"
        hint = "as in 'Europe/Rome' or '+05:30'"
        raise wrong(code="BAD_TIME_ZONE", message=message, place=zone, candidates=near_zones(name), hint=hint)
    if offset is None:
        return Grid(name, session)
    micros = _micros(offset)
    if micros is not None:
        return Grid(name, session, micros)
    moment = level.bind(offset)
    if any(moment.find_all(exp.Column)):
        message = "windows are aligned to an interval, a TIME or a TIMESTAMP, the same for all rows"
        raise wrong(code="WINDOW_ARGUMENTS", message=message, place=offset)
    return Grid(name, session, moment=moment)


def _micros(offset: exp.Expression) -> int | None:
    """An alignment as microseconds after 00:00: an interval or a TIME; None for anything else."""
    if isinstance(offset, exp.Paren):
        return _micros(offset.this)
    if isinstance(offset, exp.Neg):
        below = _micros(offset.this)
        return None if below is None else -below
    if isinstance(offset, exp.Interval):
        nothing = isinstance(offset.this, exp.Literal) and _ZERO.fullmatch(str(offset.this.name))
        return 0 if nothing else micros_of(offset)
    if not isinstance(offset, exp.Cast) or not isinstance(offset.this, exp.Literal):
        return None
    clock = str(offset.this.name)
    if not spark_sql(offset.to).upper().startswith("TIME") or ":" not in clock or "-" in clock:
        return None
    hours, minutes, *seconds = clock.split(":")
    total = int(hours) * 3600 + int(minutes) * 60 + (float(seconds[0]) if seconds else 0)
    return round(total * 1_000_000)
