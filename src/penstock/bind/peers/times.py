"""Dates and times: a DATE and an INTERVAL give a DATE, a number is cast to a TIMESTAMP as milliseconds."""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import Decimal

from sqlglot import exp

from penstock.catalog.types import INTEGRAL, Type, is_interval, is_numeric
from penstock.sql.trees import call, cast_to
from penstock.types.infer import infer

Kind = Callable[[exp.Expression], Type | None]
_TIMES = ("timestamp", "timestamp_ntz")
_LONG = frozenset({"YEAR", "YEARS", "MONTH", "MONTHS"})
_PER_DAY = {"HOUR": 24, "MINUTE": 24 * 60, "SECOND": 24 * 3600}
_NUMBER = re.compile(r"[+-]?\d+(?:\.\d+)?")
_WHOLE = frozenset({"interval day", "interval year", "interval month", "interval year to month"})


def moved_date(node: exp.Add | exp.Sub, kind: Kind) -> exp.Expression | None:
    """DATE + INTERVAL '25' HOUR is the next day: the whole days of the interval; Spark's is a TIMESTAMP."""
    date, length = node.this, node.expression
    if isinstance(node, exp.Add) and kind(length) == "date":
        date, length = length, date
    if kind(date) != "date" or not _is_of_hours(length, kind(length)):
        return None
    name = "date_add" if isinstance(node, exp.Add) else "date_sub"
    return call(name, date.copy(), _whole_days(length))


def _is_of_hours(length: exp.Expression, kind: Type | None) -> bool:
    """True for an interval of days and less, with hours, minutes or seconds; a written one may be of several units."""
    written = length.unnest()
    if kind is None and isinstance(written, exp.Interval):
        unit = written.args.get("unit")
        return isinstance(unit, exp.IntervalSpan) and str(unit.this).upper() not in _LONG
    return kind is not None and is_interval(kind) and kind not in _WHOLE


def _whole_days(length: exp.Expression) -> exp.Expression:
    """The whole days of an interval, towards zero: a number where one unit is written, else what Spark finds."""
    written = length.unnest()
    unit = written.text("unit").upper().removesuffix("S") if isinstance(written, exp.Interval) else ""
    per_day = _PER_DAY.get(unit)
    if per_day is not None and _NUMBER.fullmatch(str(written.name)):
        days = int(Decimal(written.name) / per_day)
        return exp.Literal.number(days) if days >= 0 else exp.Neg(this=exp.Literal.number(-days))
    return exp.Extract(this=exp.Var(this="DAY"), expression=cast_to(length.copy(), "interval day to second"))


def number_as_time(node: exp.Cast, kind: Kind) -> exp.Expression | None:
    """CAST(n AS TIMESTAMP) of milliseconds since 1970, of whole ones; Spark's are seconds."""
    found = kind(node.this)
    if infer(node, {})[0] not in _TIMES or found is None or not is_numeric(found):
        return None
    whole = node.this if found in INTEGRAL else type(node)(this=node.this, to=_type("bigint"))
    return call("timestamp_millis", whole.copy())


def time_as_number(node: exp.Cast, kind: Kind) -> exp.Expression | None:
    """CAST(t AS BIGINT) is the milliseconds since 1970."""
    wanted = infer(node, {})[0]
    if kind(node.this) not in _TIMES or wanted is None or not is_numeric(wanted):
        return None
    found = call("unix_millis", cast_to(node.this.copy(), "timestamp"))
    return found if wanted == "bigint" else type(node)(this=found, to=node.args["to"].copy())


def _type(kind: str) -> exp.DataType:
    return exp.DataType(this=exp.DType.USERDEFINED, kind=kind)
