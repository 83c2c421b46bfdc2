"""Interval literals as numbers, and the starts of time windows as expressions.

Windows align at 1970-01-01 00:00. A fixed length is computed in microseconds, a calendar length (months, years) in
months.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from penstock.bind.diagnose import wrong
from penstock.bind.trees import call, grouped
from penstock.sql.text import spark_sql

_MICROS = {
    "MICROSECOND": 1,
    "MILLISECOND": 1_000,
    "SECOND": 1_000_000,
    "MINUTE": 60_000_000,
    "HOUR": 3_600_000_000,
    "DAY": 86_400_000_000,
    "WEEK": 604_800_000_000,
}
_MONTHS = {"MONTH": 1, "QUARTER": 3, "YEAR": 12}
_SPANS = ("DAY", "HOUR", "MINUTE", "SECOND")


@dataclass(frozen=True)
class Duration:
    """A length of time: months, or microseconds."""

    months: int = 0
    micros: int = 0

    @property
    def tree(self) -> exp.Expression:
        """The length as an interval that can be added to a time."""
        value = str(self.months) if self.months else f"{self.micros // 1_000_000}.{self.micros % 1_000_000:06d}"
        value = value.rstrip("0").rstrip(".") if "." in value else value
        return exp.Interval(this=exp.Literal.string(value), unit=exp.Var(this="MONTH" if self.months else "SECOND"))


def duration_of(tree: exp.Expression) -> Duration:
    """The length that an interval literal, or a sum of them, stands for; raises SqlError."""
    inner = tree.unnest() if isinstance(tree, exp.Paren) else tree
    if isinstance(inner, exp.Add):
        one, two = duration_of(inner.this), duration_of(inner.expression)
        return _checked(Duration(one.months + two.months, one.micros + two.micros), tree)
    if not isinstance(inner, exp.Interval):
        raise wrong(
            code="NOT_AN_INTERVAL", message="a window needs an interval, such as INTERVAL '5' MINUTES", place=tree
        )
    unit = inner.args.get("unit")
    text = str(inner.this.name) if inner.this is not None else ""
    if isinstance(unit, exp.IntervalSpan):
        return _checked(Duration(0, _span(text, unit, tree)), tree)
    name = "" if unit is None else str(unit.name).upper().removesuffix("S")
    try:
        if name in _MONTHS:
            return _checked(Duration(int(text) * _MONTHS[name], 0), tree)
        return _checked(Duration(0, round(float(text) * _MICROS[name])), tree)
    except (ValueError, KeyError):
        raise wrong(code="NOT_AN_INTERVAL", message=f"{spark_sql(tree)} is no length of a window", place=tree) from None


def micros_of(tree: exp.Interval) -> int:
    """An offset in microseconds, which may be negative."""
    text = str(tree.this.name)
    if not text.startswith("-"):
        return duration_of(tree).micros
    positive = tree.copy()
    positive.set("this", exp.Literal.string(text[1:]))
    return -duration_of(positive).micros


def duration_of_text(tree: exp.Expression) -> Duration:
    """The length that Spark's text form (`'1 hour 30 minutes'`) or an interval stands for."""
    if not isinstance(tree, exp.Literal):
        return duration_of(tree)
    words = str(tree.this).lower().removeprefix("interval ").split()
    try:
        parts = [
            (float(amount), unit.upper().removesuffix("S"))
            for amount, unit in zip(words[::2], words[1::2], strict=True)
        ]
        micros = sum(round(amount * _MICROS[unit]) for amount, unit in parts)
    except (ValueError, KeyError):
        raise wrong(code="NOT_AN_INTERVAL", message=f"{tree.this!r} is no length of a window", place=tree) from None
    return Duration(0, micros)


def _span(text: str, unit: exp.IntervalSpan, place: exp.Expression) -> int:
    """`'1:30' HOUR TO MINUTE` in microseconds."""
    first, last = (str(part.name).upper().removesuffix("S") for part in (unit.this, unit.expression))
    if first not in _SPANS or last not in _SPANS:
        raise wrong(code="NOT_AN_INTERVAL", message="a window needs days, hours, minutes or seconds", place=place)
    units = _SPANS[_SPANS.index(first) : _SPANS.index(last) + 1]
    parts = text.replace(" ", ":").split(":")
    if len(parts) != len(units):
        raise wrong(code="NOT_AN_INTERVAL", message=f"{text!r} does not say {first} TO {last}", place=place)
    return sum(round(float(part) * _MICROS[name]) for part, name in zip(parts, units, strict=True))


def _checked(found: Duration, place: exp.Expression) -> Duration:
    if found.months and found.micros:
        raise wrong(code="NOT_AN_INTERVAL", message="months and days together have no fixed length", place=place)
    if found.months < 0 or found.micros < 0 or not (found.months or found.micros):
        raise wrong(code="NOT_AN_INTERVAL", message="a window needs a length above zero", place=place)
    return found


def window_start(time: exp.Expression, size: Duration, offset: exp.Expression | None = None) -> exp.Expression:
    """The start of the window of that size in which a time lies."""
    return (
        _month_start(time, size.months)
        if size.months
        else call("timestamp_micros", _start_micros(time, size.micros, offset))
    )


def _start_micros(time: exp.Expression, size: int, offset: exp.Expression | None) -> exp.Expression:
    """The start in microseconds after 1970-01-01 00:00."""
    micros = call("unix_micros", _timestamp(time))
    moved = micros if offset is None else exp.Sub(this=micros.copy(), expression=grouped(offset.copy()))
    past = call("pmod", moved, _long(size))
    return exp.Paren(this=exp.Sub(this=micros.copy(), expression=past))


def _month_start(time: exp.Expression, months: int) -> exp.Expression:
    years = exp.Mul(
        this=exp.Paren(this=exp.Sub(this=call("year", time.copy()), expression=_int(1970))), expression=_int(12)
    )
    count = exp.Sub(this=exp.Add(this=years, expression=call("month", time.copy())), expression=_int(1))
    past = exp.Paren(this=exp.Sub(this=count, expression=call("pmod", count.copy(), _int(months))))
    origin = call("to_date", exp.Literal.string("1970-01-01"))
    return _timestamp(call("add_months", origin, past))


def _timestamp(tree: exp.Expression) -> exp.Expression:
    return exp.Cast(this=tree.copy(), to=exp.DataType(this=exp.DType.USERDEFINED, kind="timestamp"))


def _long(value: int) -> exp.Expression:
    return exp.Cast(this=exp.Literal.number(value), to=exp.DataType(this=exp.DType.USERDEFINED, kind="bigint"))


def _int(value: int) -> exp.Expression:
    return exp.Literal.number(value)


def later(time: exp.Expression, length: Duration) -> exp.Expression:
    """A time and a length after it."""
    return exp.Add(this=time.copy(), expression=length.tree)


def hop_starts(
    time: exp.Expression, slide: Duration, size: Duration, offset: exp.Expression | None, place: exp.Expression
) -> exp.Expression:
    """An array of the starts of all windows in which a time lies."""
    if slide.months or size.months:
        raise wrong(code="NOT_AN_INTERVAL", message="HOP needs lengths in days, hours, minutes or seconds", place=place)
    last = _start_micros(time, slide.micros, offset)
    count = -(-size.micros // slide.micros)
    first = exp.Sub(this=last, expression=_long((count - 1) * slide.micros))
    starts = call("sequence", first, last.copy(), _long(slide.micros))
    micros = call("unix_micros", _timestamp(time))
    variable = exp.Identifier(this="start", quoted=False)
    inside = exp.GT(this=exp.Add(this=variable, expression=_long(size.micros)), expression=micros)
    kept = call("filter", starts, exp.Lambda(this=inside, expressions=[variable.copy()]))
    turned = exp.Lambda(this=call("timestamp_micros", variable.copy()), expressions=[variable.copy()])
    return call("transform", kept, turned)


def cumulate_ends(time: exp.Expression, step: Duration, size: Duration, place: exp.Expression) -> exp.Expression:
    """An array of the ends of all cumulating windows in which a time lies."""
    if step.months or size.months or size.micros % step.micros:
        raise wrong(code="NOT_AN_INTERVAL", message="CUMULATE needs a size that is a multiple of its step", place=place)
    start = _start_micros(time, size.micros, None)
    begun = _start_micros(time, step.micros, start)
    first = exp.Add(this=begun, expression=_long(step.micros))
    last = exp.Add(this=start.copy(), expression=_long(size.micros))
    variable = exp.Identifier(this="ending", quoted=False)
    turned = exp.Lambda(this=call("timestamp_micros", variable.copy()), expressions=[variable])
    return call("transform", call("sequence", first, last, _long(step.micros)), turned)
