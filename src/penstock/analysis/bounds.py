"""Bounds of LATENESS and AHEAD: `INTERVAL 1 HOUR`, `INTERVAL '1:00' HOURS TO MINUTES`, `10`.

A bound is subtracted from a column's value. Points in time are naive `datetime`s in UTC, a DATE is its midnight.
"""

from __future__ import annotations

import calendar
import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal, InvalidOperation, localcontext
from typing import Any

from penstock.catalog.types import FRACTIONAL, Type, is_numeric, is_temporal
from penstock.errors import Diagnostic, Span, SqlError
from penstock.plan.forms import Call
from penstock.plan.scalar import parsed
from penstock.plan.writing import text_of

_SECONDS = {
    "microsecond": Decimal("0.000001"),
    "millisecond": Decimal("0.001"),
    "second": Decimal(1),
    "minute": Decimal(60),
    "hour": Decimal(3600),
    "day": Decimal(86400),
    "week": Decimal(604800),
}
_MONTHS = {"month": 1, "quarter": 3, "year": 12}
_WHOLE, _LONGEST = 1 << 63, int("1" + 38 * "0")  # what a BIGINT and a DECIMAL can hold
_ORDER = ("year", "month", "day", "hour", "minute", "second")
_RANGE = re.compile(r"(?is)\s*interval\s*([+-]?)\s*'\s*([^']*?)\s*'\s+([a-z]+?)s?\s+to\s+([a-z]+?)s?\s*")
_SINGLE = re.compile(r"(?is)\s*interval\s+(.*)")
_PART = re.compile(r"(?is)\s*'?\s*([+-]?\s*\d+(?:\.\d+)?)\s*'?\s*([a-z]+)\s*'?\s*")


@dataclass(frozen=True, slots=True)
class Bound:
    """A span to subtract: a number, or months and a time; all but one are zero."""

    number: Decimal = Decimal(0)
    months: int = 0
    time: timedelta = timedelta(0)
    temporal: bool = False

    @property
    def negative(self) -> bool:
        """True if subtracting it would look into the future."""
        return self.number < 0 or self.months < 0 or self.time < timedelta(0)

    def plus(self, other: Bound, sign: int) -> Bound:
        """The sum with another span, or the difference if `sign` is -1."""
        months, time = self.months + sign * other.months, self.time + sign * other.time
        return Bound(self.number + sign * other.number, months, time, self.temporal)

    def below(self, value: Any) -> Any:
        """`value` minus the bound; None (no bound at all) where no value of the column's type is as low as that."""
        if not self.temporal:
            return value - float(self.number) if isinstance(value, float) else _exactly(value, self.number)
        try:
            return _minus_months(value, self.months) - self.time
        except (OverflowError, ValueError):
            return None

    def above(self, value: Any) -> Any:
        """`value` plus the bound; None where that is after the last representable time."""
        return Bound(-self.number, -self.months, -self.time, self.temporal).below(value)


def _exactly(value: int | Decimal, number: Decimal) -> int | Decimal | None:
    with localcontext() as context:
        context.prec = 80
        found: Any = value - _plain(number)
    most = _WHOLE if isinstance(found, int) else _LONGEST
    return found if abs(found) < most else None


def _plain(number: Decimal) -> int | Decimal:
    return int(number) if number == number.to_integral_value() else number


def _minus_months(value: datetime, months: int) -> datetime:
    if not months:
        return value
    year, month = divmod(value.year * 12 + value.month - 1 - months, 12)
    day = min(value.day, calendar.monthrange(year, month + 1)[1])
    return value.replace(year=year, month=month + 1, day=day)


def parse_bound(text: str, kind: Type, span: Span | None = None, word: str = "LATENESS") -> Bound:
    """The bound that `text` writes behind `word` for a column of type `kind`.

    Raises SqlError if it is no constant, does not fit the type or is negative.
    """
    code = "BAD_WATERMARK" if word == "WATERMARK" else "BAD_LATENESS"
    bound = _constant(text)
    if bound is None:
        hint = "as in INTERVAL 1 HOUR, INTERVAL '1:30' HOURS TO MINUTES, 5s, or 10"
        raise SqlError(Diagnostic(code, f"{text!r} is not a constant interval or number", span, hint=hint))
    if bound.negative:
        raise SqlError(Diagnostic(code, f"{word} {text} is negative", span))
    if bound.temporal != is_temporal(kind) or not (is_temporal(kind) or is_numeric(kind) or kind in FRACTIONAL):
        wanted = "an interval" if is_temporal(kind) else "a number" if is_numeric(kind) else f"no {word} at all"
        message = f"{word} {text} cannot be subtracted from a column of type {kind.upper()}"
        raise SqlError(Diagnostic(code, message, span, hint=f"{kind.upper()} takes {wanted}"))
    return bound


def is_zero(text: str) -> bool:
    """True for a bound that takes nothing away."""
    found = _constant(text)
    return found is not None and found == Bound(temporal=found.temporal)


def _constant(text: str) -> Bound | None:
    """An interval, a number, or sums and differences of such."""
    found = _interval(text) or _number(text)
    if found is not None or not re.search(r"[-+(]", text):
        return found
    try:
        form = parsed(text)
    except SqlError:
        return None
    match form:
        case Call("+" | "-" as sign, (left, right)):
            one, other = _constant(text_of(left)), _constant(text_of(right))
            if one is None or other is None or one.temporal != other.temporal:
                return None
            return one.plus(other, 1 if sign == "+" else -1)
        case _:
            return None if text_of(form) == text else _constant(text_of(form))


def _number(text: str) -> Bound | None:
    try:
        return Bound(number=Decimal(re.sub(r"(?i)(bd|[lsydf])$", "", text.strip().replace(" ", ""))))
    except InvalidOperation:
        return None


def _interval(text: str) -> Bound | None:
    if match := _RANGE.fullmatch(text):
        return _ranged(match[1], match[2], match[3].lower(), match[4].lower())
    match = _SINGLE.fullmatch(text)
    if match is None:
        return None
    rest, months, seconds = match[1], 0, Decimal(0)
    while rest.strip():
        part = _PART.match(rest)
        unit = part[2].lower().removesuffix("s") if part else ""
        if part is None or (unit not in _SECONDS and unit not in _MONTHS):
            return None
        amount = Decimal(part[1].replace(" ", ""))
        months += int(amount) * _MONTHS.get(unit, 0)
        seconds += amount * _SECONDS.get(unit, Decimal(0))
        rest = rest[part.end() :]
    return Bound(months=months, time=_time(seconds), temporal=True)


def _ranged(sign: str, text: str, first: str, last: str) -> Bound | None:
    if first not in _ORDER or last not in _ORDER:
        return None
    units = _ORDER[_ORDER.index(first) : _ORDER.index(last) + 1]
    minus = -1 if (sign == "-") != text.startswith("-") else 1
    numbers = re.split(r"[-: ]+", text.lstrip("+-"))
    if len(numbers) != len(units) or not all(re.fullmatch(r"\d+(\.\d+)?", item) for item in numbers):
        return None
    months, seconds = 0, Decimal(0)
    for unit, number in zip(units, numbers, strict=True):
        months += int(Decimal(number)) * _MONTHS.get(unit, 0)
        seconds += Decimal(number) * _SECONDS.get(unit, Decimal(0))
    return Bound(months=minus * months, time=minus * _time(seconds), temporal=True)


def _time(seconds: Decimal) -> timedelta:
    return timedelta(microseconds=int(seconds * 1_000_000))
