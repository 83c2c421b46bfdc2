"""Checks of single values against declared column types.

`converter('decimal(10,2)')` gives a function from any Python value to the value that Arrow takes, which raises
`BadValue` with what was found. Nothing is bent to fit: an integral float is an INT, 1.5 is not; text is a DATE or a
TIMESTAMP, never a number, unless `Leniency` says so, as it does for files.
"""

from __future__ import annotations

import base64
import json
import math
import re
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from decimal import ROUND_HALF_UP, Decimal, InvalidOperation, localcontext
from typing import Any, Literal
from uuid import UUID

from penstock.catalog.types import UNSIGNED, Type, struct_fields, type_arguments
from penstock.steps.rows.interval_texts import parse_day_time, parse_months

Convert = Callable[[Any], Any]

_INTEGRAL = {"tinyint": 8, "smallint": 16, "int": 32, "bigint": 64}
_SHOWN = 60
# Half way from the greatest FLOAT to the next that there would be: what is below is rounded to it, as 3.4028235e38 is.
_FLOAT32_END = 3.4028235677973366e38
_SPECIAL = {
    "nan": math.nan,
    "infinity": math.inf,
    "+infinity": math.inf,
    "-infinity": -math.inf,
    "inf": math.inf,
    "-inf": -math.inf,
}


class BadValue(ValueError):  # noqa: N818 - it names what is wrong, and never leaves the runtime
    """A value that does not fit its column; the message says what was found."""


@dataclass(frozen=True, slots=True)
class Leniency:
    """The values that are read beyond those of the column's own kind, by sources whose formats do not know all kinds.

    text            numbers and booleans may be written as text
    epoch           a number is a point in time: of that unit since 1970, or 'auto' (`epoch_time`); '' if it is none
    epoch_text      so is text that is a whole number
    ignore_unknown  columns that the table lacks are left out
    new             these are noted, so that the table gets them: of their 'values', or of the 'texts' that stand for
                    these; and in a STRING what is no text is its JSON
    binary          how a text is a BINARY: in 'base64'; in 'hex' behind a backslash and an x, as PostgreSQL has it;
                    else it stands for its own bytes
    json_texts      a nested value, or a VARIANT, is written as a text of JSON
    bad_is_null     a value that does not fit is NULL
    complete        a row by name must have all columns
    """

    text: bool = False
    epoch: str = ""
    epoch_text: bool = False
    ignore_unknown: bool = False
    new: Literal["", "values", "texts"] = ""
    binary: Literal["", "base64", "hex"] = ""
    json_texts: bool = False
    bad_is_null: bool = False
    complete: bool = False


STRICT = Leniency()


@dataclass(frozen=True, slots=True)
class Unreadable:
    """Stands for a value that Python cannot hold, or that is broken; it fits no column."""

    text: str

    def __str__(self) -> str:
        return self.text


def shown(value: Any) -> str:
    """A value as a person reads it in a diagnostic."""
    if isinstance(value, Unreadable):
        return value.text
    text = repr(value)
    short = text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"
    return f"{short} ({type(value).__name__})"


def is_missing(value: Any) -> bool:
    """True if a value is None, or pandas' NaT or NA, which are told by name: pandas may not be there."""
    return value is None or type(value).__name__ in ("NaTType", "NAType")


def _refuse(value: Any, why: str = "") -> BadValue:
    return BadValue(f"found {shown(value)}{': ' + why if why else ''}")


def converter(kind: Type, zone: tzinfo = UTC, lenient: Leniency = STRICT) -> Convert:
    """A function that checks and converts values of a column, NULL apart; `zone` is that of text without an offset."""
    lower, text = kind.lower(), lenient.text
    if lower in _INTEGRAL:
        return _integral(_INTEGRAL[lower], text=text)
    if lower in UNSIGNED:
        return _unsigned(lower, text=text)
    if lower in ("float", "double"):
        return _fractional(_FLOAT32_END if lower == "float" else math.inf, text=text)
    if lower.startswith("decimal"):
        return _decimal(kind, text=text)
    if lower in ("timestamp", "timestamp_ntz"):
        return _timestamp(zone if lower == "timestamp" else UTC, lenient)
    if lower == "boolean":
        return _boolean_text if text else _boolean
    if "<" in lower or lower == "variant":
        convert = _variant if lower == "variant" else _nested(kind, zone, _within_json(lenient))
        return _from_json_text(convert, or_text=lower == "variant") if lenient.json_texts else convert
    if match := re.fullmatch(r"(varchar|char)\((\d+)\)", lower):
        return _limited(int(match[2]), padded=match[1] == "char")
    if lower == "string" and lenient.new:
        return _string_or_json
    if lower == "binary":
        return _BINARIES[lenient.binary]
    return _OTHERS.get(lower) or _by_prefix(lower, text=text)


def _within_json(lenient: Leniency) -> Leniency:
    """The leniency of the parts of a nested value, which are JSON's where that is a text of it."""
    return replace(lenient, json_texts=False, binary="base64") if lenient.json_texts else lenient


def _by_prefix(lower: str, *, text: bool) -> Convert:
    if lower.startswith("interval"):
        months = "year" in lower or "month" in lower
        exact, parse = (_months, parse_months) if months else (_duration, parse_day_time)
        return _or_from_text(exact, parse) if text else exact
    return _time_of_day if lower.startswith("time") else _string


def _or_from_text(exact: Convert, parse: Callable[[str], Any]) -> Convert:
    """A conversion of values, or of the texts that Spark writes for them."""

    def convert(value: Any) -> Any:
        if not isinstance(value, str):
            return exact(value)
        try:
            return exact(int(value) if re.fullmatch(r"[+-]?\d+", value) else parse(value))
        except (ValueError, OverflowError):
            raise _refuse(value) from None

    return convert


def _from_json_text(convert: Convert, *, or_text: bool) -> Convert:
    """A conversion of a nested value that is written as JSON; with `or_text` what is none is a text."""

    def converted(value: Any) -> Any:
        if not isinstance(value, str):
            return convert(value)
        try:
            return convert(json.loads(value))
        except (ValueError, RecursionError) as error:
            if or_text:
                return convert(value)
            raise (error if isinstance(error, BadValue) else _refuse(value, "not JSON")) from None

    return converted


def _integral(bits: int, *, text: bool) -> Convert:
    return _ranged(-(1 << (bits - 1)), (1 << (bits - 1)) - 1, text=text)


def _unsigned(kind: Type, *, text: bool) -> Convert:
    """From zero on; the widest is carried as a DECIMAL."""
    greatest, carried = UNSIGNED[kind]
    whole = _ranged(0, greatest, text=text)
    return whole if carried in _INTEGRAL else lambda value: Decimal(whole(value))


def _ranged(low: int, high: int, *, text: bool) -> Convert:

    def convert(value: Any) -> int:
        found = value if type(value) is int else _whole(value, text=text)
        if low <= found <= high:
            return found
        raise _refuse(value, f"out of range {low} … {high}")

    return convert


def _whole(value: Any, *, text: bool) -> int:
    if isinstance(value, str) and text and re.fullmatch(r"\s*[+-]?\d+\s*", value):
        return int(value)
    if isinstance(value, bool | str | bytes) or not hasattr(value, "__int__"):
        raise _refuse(value)
    try:
        found = int(value)
    except (ValueError, OverflowError):
        raise _refuse(value) from None
    if found != value:
        raise _refuse(value, "it has a fraction")
    return found


def _fractional(limit: float, *, text: bool) -> Convert:
    def convert(value: Any) -> float:
        if type(value) is float and limit == math.inf:
            return value
        if isinstance(value, str) and value.strip().lower() in _SPECIAL:
            return _SPECIAL[value.strip().lower()]
        if isinstance(value, bool | bytes) or (isinstance(value, str) and not (text and _NUMBER.fullmatch(value))):
            raise _refuse(value)
        try:
            found = float(value)
        except (TypeError, ValueError, OverflowError):
            raise _refuse(value) from None
        if math.isfinite(found) and abs(found) >= limit:
            raise _refuse(value, "out of range")
        return found

    return convert


def _decimal(kind: Type, *, text: bool) -> Convert:
    precision, scale = (int(item) for item in kind[kind.index("(") + 1 : kind.index(")")].split(","))
    step, limit = Decimal(1).scaleb(-scale), Decimal(10) ** (precision - scale)

    def convert(value: Any) -> Decimal:
        if isinstance(value, bool | bytes) or (isinstance(value, str) and not (text or _NUMBER.fullmatch(value))):
            raise _refuse(value)
        try:
            with localcontext() as context:
                context.prec = 80
                exact = value if isinstance(value, Decimal) else Decimal(str(value))
                found = exact.quantize(step, rounding=ROUND_HALF_UP)
        except (InvalidOperation, ValueError):
            raise _refuse(value) from None
        if found.copy_abs() >= limit:  # abs() would round to 28 digits
            raise _refuse(value, f"more than {precision - scale} digits before the point")
        return found

    return convert


_NUMBER = re.compile(r"\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*")


def _boolean(value: Any) -> bool:
    if type(value).__name__ in ("bool", "bool_"):
        return bool(value)
    raise _refuse(value)


def _boolean_text(value: Any) -> bool:
    lower = value.strip().lower() if isinstance(value, str) else ""
    if lower in ("true", "t", "yes", "y", "1", "false", "f", "no", "n", "0"):
        return lower in ("true", "t", "yes", "y", "1")
    return _boolean(value)


def _string(value: Any) -> str:
    if isinstance(value, str):
        return value if value.isascii() else _text(value)
    raise _refuse(value)


def _string_or_json(value: Any) -> str:
    if isinstance(value, date | time | timedelta | UUID) and not is_missing(value):
        return str(value)
    return _string(value) if isinstance(value, str | bytes | Unreadable) else _variant(value)


def _text(value: str) -> str:
    try:
        value.encode()
    except UnicodeEncodeError:
        raise _refuse(value, "half of a surrogate pair is no text") from None
    return value


def _limited(limit: int, *, padded: bool) -> Convert:
    def convert(value: Any) -> str:
        found = _string(value)
        if len(found) > limit and len(found.rstrip(" ")) > limit:
            raise _refuse(value, f"longer than {limit} characters")
        return found[:limit].ljust(limit) if padded else found[:limit]

    return convert


def _binary(value: Any) -> bytes:
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value)
    if isinstance(value, str):
        return _text(value).encode()
    raise _refuse(value)


def _base64(value: Any) -> bytes:
    """The bytes of a text in base64, whose letters may stand on several lines."""
    if not isinstance(value, str):
        return _binary(value)
    try:
        return base64.b64decode("".join(value.split()), validate=True)
    except ValueError:
        raise _refuse(value, "not base64") from None


def _hexadecimal(value: Any) -> bytes:
    if isinstance(value, str) and _HEXADECIMAL.fullmatch(value):
        return bytes.fromhex(value[2:])
    return _binary(value)


_HEXADECIMAL = re.compile(r"\\x(?:[0-9a-fA-F]{2})*")
_BINARIES: Mapping[str, Convert] = {"": _binary, "base64": _base64, "hex": _hexadecimal}


def _date(value: Any) -> date:
    if isinstance(value, datetime):
        if value.time() == time(0):
            return value.date()
        raise _refuse(value, "it has a time of day")
    if isinstance(value, date):
        return value
    if isinstance(value, str):
        try:
            return date.fromisoformat(value.strip())
        except ValueError:
            raise _refuse(value) from None
    raise _refuse(value)


def _timestamp(zone: tzinfo, lenient: Leniency) -> Convert:
    def convert(value: Any) -> datetime:
        if lenient.epoch and _is_epoch(value, lenient):
            return epoch_time(value, lenient.epoch)
        if isinstance(value, str):
            found = _parsed(value)
            found = found if found.tzinfo else found.replace(tzinfo=zone)
        elif isinstance(value, datetime) and not is_missing(value):
            found = value.to_pydatetime(warn=False) if hasattr(value, "to_pydatetime") else value
        elif isinstance(value, date) and not is_missing(value):
            found = datetime.combine(value, time(0), zone)
        else:
            raise _refuse(value)
        return found.astimezone(UTC).replace(tzinfo=None) if found.tzinfo else found

    return convert


_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 - points in time are naive UTC datetimes
_UNITS = {"seconds": 0, "milliseconds": 3, "microseconds": 6, "nanoseconds": 9}
_LAST_SECOND = 253_402_300_799  # of the year 9999


def _is_epoch(value: Any, lenient: Leniency) -> bool:
    if isinstance(value, str):
        return lenient.epoch_text and _NUMBER.fullmatch(value) is not None
    return isinstance(value, int | float | Decimal) and not isinstance(value, bool)


def epoch_time(value: Any, unit: str) -> datetime:
    """A number since 1970 as a point in time.

    With 'auto' it is seconds, as Spark's JSON reader has it, unless it is beyond the year 9999 as seconds: then
    milliseconds, and so on.
    """
    try:
        exact = Decimal(str(value).strip())
        power = _UNITS[unit] if unit in _UNITS else _unit_of(exact)
        return _EPOCH + timedelta(microseconds=int(exact.scaleb(6 - power)))
    except (ArithmeticError, ValueError):
        raise _refuse(value, "not a point in time") from None


def _unit_of(value: Decimal) -> int:
    return next((power for power in _UNITS.values() if abs(value.scaleb(-power)) <= _LAST_SECOND), 0)


def _parsed(value: str) -> datetime:
    text = re.sub(r"(\.\d{6})\d+", r"\1", value.strip())
    try:
        return datetime.fromisoformat(text.replace(" UTC", "+00:00"))
    except ValueError:
        raise _refuse(value, "not a timestamp as in '2024-01-31 12:00:00'") from None


def _time_of_day(value: Any) -> time:
    if isinstance(value, str):
        try:
            return time.fromisoformat(value.strip())
        except ValueError:
            raise _refuse(value) from None
    if isinstance(value, time):
        return value
    raise _refuse(value)


def _duration(value: Any) -> timedelta:
    if isinstance(value, timedelta):
        return value
    raise _refuse(value)


def _months(value: Any) -> int:
    if type(value) is int and abs(value) < 1 << 31:
        return value
    raise _refuse(value)


class Json(str):
    """The JSON of a VARIANT, told from a VARIANT that is a text."""

    __slots__ = ()


def _variant(value: Any) -> str:
    """A VARIANT is given as the Python value of its JSON."""
    if isinstance(value, Json):
        return str(value)
    try:
        text = json.dumps(value, default=_as_json, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError):
        raise _refuse(value) from None
    return _text(_EXACT.sub(r"\1", text))


_EXACT = re.compile(r'"\\u0000decimal:([^"]*)"')


def _as_json(value: Any) -> Any:
    """A value for one that JSON does not know: numbers of other libraries are numbers, times and identifiers texts."""
    if isinstance(value, Decimal):
        if not value.is_finite():
            raise _refuse(value)
        return f"\0decimal:{value}"
    if isinstance(value, date | time | UUID) and not is_missing(value):
        return str(value)
    if hasattr(value, "item"):
        return value.item()
    raise _refuse(value)


def _nothing(value: Any) -> None:
    raise _refuse(value)


_OTHERS: Mapping[str, Convert] = {
    "string": _string,
    "date": _date,
    "void": _nothing,
}


def _nested(kind: Type, zone: tzinfo, lenient: Leniency) -> Convert:
    head, items = type_arguments(kind)
    if head == "array":
        return _array(nullable(converter(items[0], zone, lenient)))
    if head == "map":
        key, value = (converter(item, zone, lenient) for item in items)
        return _map(key, nullable(value))
    fields = [(name, nullable(converter(item, zone, lenient))) for name, item in struct_fields(kind)]
    return _struct(fields, ignore_unknown=lenient.ignore_unknown)


def nullable(convert: Convert) -> Convert:
    """The same check that lets NULL through."""

    def checked(value: Any) -> Any:
        if value is None:
            return None
        try:
            return convert(value)
        except (ArithmeticError, ValueError, TypeError):
            if is_missing(value):
                return None
            raise

    return checked


def _array(item: Convert) -> Convert:
    def convert(value: Any) -> list[Any]:
        if isinstance(value, str | bytes | Mapping) or not hasattr(value, "__iter__"):
            raise _refuse(value)
        return [item(each) for each in value]

    return convert


def _map(key: Convert, item: Convert) -> Convert:
    def convert(value: Any) -> list[tuple[Any, Any]]:
        pairs = value.items() if isinstance(value, Mapping) else value
        try:
            found = [(key(name), item(each)) for name, each in pairs]
        except (TypeError, ValueError) as error:
            raise (error if isinstance(error, BadValue) else _refuse(value)) from None
        _refuse_repeated([name for name, _ in found])
        return found

    return convert


def _refuse_repeated(keys: list[Any]) -> None:
    seen = set()
    for key in keys:
        mark = key if isinstance(key, Hashable) and key == key else repr(key)  # noqa: PLR0124 - only NaN differs
        if mark in seen:
            message = f"found the key {shown(key)} twice"
            raise BadValue(message)
        seen.add(mark)


def _struct(fields: list[tuple[str, Convert]], *, ignore_unknown: bool) -> Convert:
    names = {name.lower() for name, _ in fields}

    def convert(value: Any) -> dict[str, Any]:
        if hasattr(value, "asDict"):
            value = value.asDict()
        if isinstance(value, list | tuple) and len(value) == len(fields):
            return {name: item(each) for (name, item), each in zip(fields, value, strict=True)}
        if not isinstance(value, Mapping):
            raise _refuse(value)
        if not ignore_unknown and not {str(name).lower() for name in value} <= names:
            raise _refuse(value)
        given = {str(name).lower(): each for name, each in value.items()}
        return {name: item(given.get(name.lower())) for name, item in fields}

    return convert
