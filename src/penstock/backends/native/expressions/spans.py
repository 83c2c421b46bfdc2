"""Interval literals as months or microseconds."""

from __future__ import annotations

import re
from dataclasses import dataclass

from penstock.plan.forms import Call, Form, Span

_MICROS = {
    "MICROSECOND": 1, "MILLISECOND": 1_000, "SECOND": 1_000_000, "MINUTE": 60_000_000, "HOUR": 3_600_000_000,
    "DAY": 86_400_000_000, "WEEK": 604_800_000_000,
}  # fmt: skip
_MONTHS = {"MONTH": 1, "YEAR": 12}
_UNITS = ("DAY", "HOUR", "MINUTE", "SECOND")
_MOST = {"HOUR": 23, "MINUTE": 59, "SECOND": 59}
_NUMBER = re.compile(r"([+-]?)(\d{1,9})(?:\.(\d{1,6}))?")


@dataclass(frozen=True, slots=True)
class Length:
    """Months, or microseconds; with `days` it is whole days."""

    months: int = 0
    micros: int = 0
    days: bool = False


def length_of(form: Form) -> Length | None:
    """The length of an interval literal, which may have a minus before it; None if it is not known to be one."""
    if isinstance(form, Call) and form.function == "-" and len(form.arguments) == 1:
        inner = length_of(form.arguments[0])
        return None if inner is None else Length(-inner.months, -inner.micros, inner.days)
    if not isinstance(form, Span):
        return None
    first, _, last = (part.strip().removesuffix("S") for part in form.unit.upper().partition(" TO "))
    return _one(form.value.strip(), first) if not last else _several(form.value.strip(), first, last)


def _one(text: str, unit: str) -> Length | None:
    found = _NUMBER.fullmatch(text)
    if found is None or (found[3] and unit != "SECOND"):
        return None
    number = int(found[1] + found[2])
    if unit in _MONTHS:
        return Length(months=number * _MONTHS[unit])
    if unit not in _MICROS:
        return None
    part = int(found[1] + (found[3] or "").ljust(6, "0"))
    return Length(micros=number * _MICROS[unit] + part, days=unit in ("DAY", "WEEK"))


def _several(text: str, first: str, last: str) -> Length | None:
    """`1 02:30` DAY TO MINUTE; the sign is that of all of it."""
    if first not in _UNITS or last not in _UNITS:
        return None
    units = _UNITS[_UNITS.index(first) : _UNITS.index(last) + 1]
    sign, parts = (-1 if text.startswith("-") else 1), re.split(r"[ :]", text.lstrip("+-"))
    if len(parts) != len(units) or len(units) == 1:
        return None
    lengths = [_part(part, unit, leads=not place) for place, (part, unit) in enumerate(zip(parts, units, strict=True))]
    known = [item for item in lengths if item is not None]
    return Length(micros=sign * sum(known)) if len(known) == len(lengths) else None


def _part(text: str, unit: str, *, leads: bool) -> int | None:
    found = _one(text, unit) if re.fullmatch(r"\d[\d.]*", text) else None
    if found is None or (not leads and found.micros >= (_MOST[unit] + 1) * _MICROS[unit]):
        return None
    return found.micros
