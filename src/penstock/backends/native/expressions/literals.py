"""Constants: numbers, texts, bytes, dates and times."""

from __future__ import annotations

import re
from datetime import datetime
from math import isfinite

from penstock.backends.native.expressions.digits import MOST, digits_of
from penstock.backends.native.expressions.kinds import RANGE, storage
from penstock.backends.native.proof import NotProvenError, Proven, not_proven
from penstock.backends.native.raised import text_literal
from penstock.catalog.types import INTEGRAL, Type
from penstock.plan.forms import Call, Cast, Constant, Form
from penstock.types.infer import number_type

_TIME = re.compile(r"(\d{4})-(\d{1,2})-(\d{1,2})(?:[ T](\d{1,2}):(\d{1,2})(?::(\d{1,2})(?:\.(\d{1,6}))?)?)?")
_DATE = re.compile(r"(\d{4})-(\d{1,2})-(\d{1,2})")
_IN_UTC = re.compile(r"(:\d{1,2}:\d{1,2}(?:\.\d{1,6})?)(?: UTC|Z|\+00:00)$")  # which all times are in
_NUMBER = re.compile(r"(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,3})?")


def constant(form: Constant) -> Proven:
    """A literal."""
    kind = form.type
    if kind == "void":
        return Proven("NULL", "void")
    if kind == "boolean":
        return Proven(form.value.upper(), kind)
    if kind == "string":
        if "\0" in form.value:
            not_proven("a text with a zero character")
        return Proven(f"{text_literal(form.value)}::VARCHAR", kind)
    if kind == "binary":
        return Proven(f"from_hex('{'0' * (len(form.value) % 2)}{form.value}')", kind)
    return number(form.value, kind)


def number(digits: str, kind: Type, sign: str = "") -> Proven:
    """A number as it is written, with a sign before it."""
    if not _NUMBER.fullmatch(digits):
        not_proven(f"the number {digits}")
    if kind in INTEGRAL:
        least, most = RANGE[kind]
        if not least <= int(sign + digits) <= most:
            not_proven(f"the number {sign}{digits} as {kind}")
        value = int(sign + digits)
        return Proven(f"CAST('{sign}{digits}' AS {storage(kind)})", kind, bounds=(value, value))
    if not _fits(digits, kind):
        not_proven(f"the number {sign}{digits} as {kind}")
    return Proven(f"CAST('{sign}{digits}' AS {storage(kind)})", kind)


def _fits(digits: str, kind: Type) -> bool:
    """False for a number that Spark refuses, since its type has no room for it."""
    found = digits_of(kind)
    return isfinite(float(digits)) if found is None else found.digits <= MOST


def negative(form: Form) -> Proven | None:
    """A minus before a number, which Spark reads as one literal; None for anything else."""
    match form:
        case Call("-", (Constant() as inner,)) if inner.is_number:
            kind = number_type(inner.value)
            if inner.value == "2147483648" or kind is None:
                not_proven(f"-{inner.value}")  # an INT if it stands without parentheses, and a BIGINT else
            return number(inner.value, kind, "-")
        case Call("-", (Cast(literal=True, argument=Constant()) as inner,)) if inner.type in (*INTEGRAL, "double"):
            return number(inner.argument.value, inner.type, "-")  # type: ignore[attr-defined]
    return None


def written(form: Cast) -> Proven | None:
    """A literal that is written with its type: `10L`, `1.5BD`, `DATE '2024-01-01'`; None for any other cast."""
    if not form.literal or not isinstance(form.argument, Constant):
        return None
    text = form.argument.value
    if form.type in ("date", "timestamp", "timestamp_ntz"):
        return _moment(text, form.type)
    if form.type not in (*INTEGRAL, "double") and not form.type.startswith("decimal"):
        not_proven(f"{form.type} '{text}'")
    return number(text, form.type)


def read(text: str, kind: Type) -> Proven | None:
    """A constant text as Spark casts it to a date or a time; None where that is not proven."""
    try:
        return _moment(text.strip(" "), kind)
    except NotProvenError:
        return None


def _moment(text: str, kind: Type) -> Proven:
    if kind == "timestamp":
        text = _IN_UTC.sub(r"\1", text)
    found = (_DATE if kind == "date" else _TIME).fullmatch(text)
    if found is None:
        not_proven(f"{kind} '{text}'")
    parts = [int(part or 0) for part in found.groups()[:6]]
    try:
        moment = datetime(*parts)  # type: ignore[arg-type]  # noqa: DTZ001 - all times are UTC
    except ValueError:
        not_proven(f"{kind} '{text}'")
    if kind == "date":
        return Proven(f"DATE '{moment.date().isoformat()}'", kind)
    return Proven(f"TIMESTAMP '{moment.isoformat(' ')}.{(found[7] or '').ljust(6, '0')}'", kind)
