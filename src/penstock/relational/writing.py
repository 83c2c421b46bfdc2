"""Names, values and lengths of time as SQL has them."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

from penstock.errors import Diagnostic, SqlError
from penstock.sql.keywords import KEYWORDS, STRUCTURE

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_PART = re.compile(r"`((?:[^`]|``)+)`|([^.`]+)")
_WORDS = frozenset(KEYWORDS) | STRUCTURE | {"TRUE", "FALSE", "NULL", "EXISTS", "ALL", "ANY", "SOME"}
_INTEGERS = 2**63


def named(name: str) -> str:
    """A name; in back quotes where it needs them."""
    if _PLAIN.fullmatch(name) and name.upper() not in _WORDS:
        return name
    return "`" + name.replace("`", "``") + "`"


def path(name: str) -> str:
    """The name of a column, with that of its relation before a point: `o.id`; quoted parts may have points."""
    parts = [(quoted or plain).replace("``", "`") for quoted, plain in _PART.findall(name)]
    if not parts or _PART.sub("", name) != "." * (len(parts) - 1):
        hint = "write col('x'), col('relation.x'), or col('`a name with a point.`')"
        raise SqlError(Diagnostic("PYTHON_CALL", f"{name!r} is not the name of a column", hint=hint))
    return ".".join("*" if part == "*" else named(part) for part in parts)


def text_literal(value: str) -> str:
    """A text."""
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"


def literal(value: Any) -> str:
    """A value of Python; a datetime without a zone is in UTC. SqlError for one that SQL does not have."""
    match value:
        case None:
            return "NULL"
        case bool():
            return "TRUE" if value else "FALSE"
        case int():
            return f"{value}" if -_INTEGERS <= value < _INTEGERS else f"{value}BD"
        case float():
            return f"{value!r}D" if math.isfinite(value) else f"CAST('{value}' AS DOUBLE)"
        case Decimal():
            return f"{value:f}BD"
        case str():
            return text_literal(value)
        case bytes():
            return f"X'{value.hex()}'"
        case datetime():
            return f"TIMESTAMP '{value.replace(tzinfo=value.tzinfo or UTC).isoformat(' ')}'"
        case date():
            return f"DATE '{value.isoformat()}'"
        case timedelta():
            return _interval(value // timedelta(microseconds=1))
        case list() | tuple():
            return f"ARRAY({', '.join(map(literal, value))})"
        case Mapping():
            return f"MAP({', '.join(literal(item) for pair in value.items() for item in pair)})"
    message = f"{value!r} is no value of SQL"
    hint = "a number, text, bytes, date, datetime, timedelta, list, dict or None"
    raise SqlError(Diagnostic("PYTHON_CALL", message, hint=hint))


_UNITS = (
    ("DAY", 86_400_000_000, ("d", "day")),
    ("HOUR", 3_600_000_000, ("h", "hr", "hour")),
    ("MINUTE", 60_000_000, ("m", "min", "minute")),
    ("SECOND", 1_000_000, ("s", "sec", "second")),
    ("MILLISECOND", 1_000, ("ms", "milli", "millisecond")),
    ("MICROSECOND", 1, ("us", "micro", "microsecond")),
)
_MICROSECONDS = {word: size for _, size, words in _UNITS for word in words} | {"w": 7 * _UNITS[0][1]}
_MICROSECONDS["week"] = _MICROSECONDS["w"]
_LENGTH = re.compile(r"(\d+)\s*([A-Za-z]+)")
_MONTHS = {"month": "MONTH", "quarter": "QUARTER", "year": "YEAR"}


def length(value: str | timedelta) -> str:
    """A length of time: '1 hour', '1 hour 30 minutes', '5s', a timedelta; SqlError for anything else."""
    if isinstance(value, timedelta):
        return _interval(value // timedelta(microseconds=1))
    if not isinstance(value, str):
        raise _no_length(value)
    parts = [(int(count), unit) for count, unit in _LENGTH.findall(value)]
    if not parts or _LENGTH.sub("", value).strip(" ,"):
        raise _no_length(value)
    if len(parts) == 1 and _singular(parts[0][1]) in _MONTHS:
        return f"INTERVAL '{parts[0][0]}' {_MONTHS[_singular(parts[0][1])]}"
    sizes = [_MICROSECONDS.get(_singular(unit)) for _, unit in parts]
    if None in sizes:
        raise _no_length(value)
    return _interval(sum(count * (size or 0) for (count, _), size in zip(parts, sizes, strict=True)))


def _singular(unit: str) -> str:
    lower = unit.lower()
    return lower[:-1] if len(lower) > 2 and lower.endswith("s") else lower  # noqa: PLR2004 - 'ms' and 'us' are no plurals


def _interval(microseconds: int) -> str:
    """An interval in its largest whole unit."""
    unit, size = next((unit, size) for unit, size, _ in _UNITS if microseconds % size == 0)
    return f"INTERVAL '{microseconds // size}' {unit}"


def _no_length(value: object) -> SqlError:
    hint = "write '1 hour', '90 minutes', '5s', or timedelta(minutes=5)"
    return SqlError(Diagnostic("PYTHON_CALL", f"{value!r} is no length of time", hint=hint))
