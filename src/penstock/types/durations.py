"""Interval literals as numbers: a fixed length in microseconds, a calendar length (months, years) in months."""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from penstock.sql.complaints import wrong
from penstock.sql.text import spark_sql
from penstock.sql.trees import call

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


def month_start(time: exp.Expression, months: int) -> exp.Expression:
    """The beginning of the months, counted from January 1970, in which a time lies."""
    years = exp.Mul(
        this=exp.Paren(this=exp.Sub(this=call("year", time.copy()), expression=_int(1970))), expression=_int(12)
    )
    count = exp.Sub(this=exp.Add(this=years, expression=call("month", time.copy())), expression=_int(1))
    past = exp.Paren(this=exp.Sub(this=count, expression=call("pmod", count.copy(), _int(months))))
    origin = call("to_date", exp.Literal.string("1970-01-01"))
    return timestamp(call("add_months", origin, past))


def timestamp(tree: exp.Expression) -> exp.Expression:
    """The time as a TIMESTAMP."""
    return exp.Cast(this=tree.copy(), to=exp.DataType(this=exp.DType.USERDEFINED, kind="timestamp"))


def long(value: int) -> exp.Expression:
    """The number as a BIGINT."""
    return exp.Cast(this=exp.Literal.number(value), to=exp.DataType(this=exp.DType.USERDEFINED, kind="bigint"))


def _int(value: int) -> exp.Expression:
    return exp.Literal.number(value)


def later(time: exp.Expression, length: Duration) -> exp.Expression:
    """A time and a length after it."""
    return exp.Add(this=time.copy(), expression=length.tree)
