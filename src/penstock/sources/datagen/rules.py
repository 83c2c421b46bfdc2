"""The rule by which a column's values are made, from its type and the properties `fields.<column>.…`.

A column of type INT with `'fields.n.max' = '9'` is `Ruled(Uniform(-2147483648, 9))`. Whatever is a number where it is
stored is drawn as one: a DATE as days, a TIMESTAMP as microseconds, a DECIMAL without its point.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from decimal import Decimal, InvalidOperation
from typing import Any, NoReturn, TypeVar

from penstock.catalog.model import Column, Table
from penstock.catalog.properties import name_place, value_place
from penstock.catalog.types import Type, struct_fields, type_arguments
from penstock.errors import Diagnostic, SqlError, did_you_mean
from penstock.sources.datagen.declared import LARGEST, check_whole
from penstock.sources.properties import duration
from penstock.steps.rows.values import converter

_BITS = {"tinyint": 8, "smallint": 16, "int": 32, "bigint": 64}
_FLOAT32_MAX = 3.4028234663852886e38
_FLOAT64_MAX = 1.7976931348623157e308
_LENGTH, _ITEMS, _LONGEST = 100, 3, 1 << 20
_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 - points in time are naive UTC datetimes
_MICRO = timedelta(microseconds=1)
_DAY = 86_400
_LONG_AGO = 365_000 * _DAY * 10**6
_TEXT = re.compile(r"(?:(varchar|char)\((\d+)\))|string(?: collate \S+)?")
_DECIMAL = re.compile(r"decimal\((\d+),\s*(\d+)\)")


@dataclass(frozen=True, slots=True)
class Uniform:
    """A whole number between two, both included, as the type stores it: a multiple of `step`."""

    low: int
    high: int
    step: int = 1


@dataclass(frozen=True, slots=True)
class Fraction:
    """A fractional number between two."""

    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Past:
    """The time at which the row is due, or one that is up to so many microseconds before it; `unit` in microseconds."""

    most: int
    unit: int = 1


@dataclass(frozen=True, slots=True)
class Text:
    """Hexadecimal digits; with `varying` fewer than `length`, with `padded` blanks behind them."""

    length: int
    varying: bool = False
    padded: int = 0


@dataclass(frozen=True, slots=True)
class Octets:
    """Bytes; with `varying` fewer than `length`."""

    length: int
    varying: bool = False


@dataclass(frozen=True, slots=True)
class Sequence:
    """The number of the row from `start` on, up to `end`; `scale` is that of a DECIMAL."""

    start: int
    end: int
    scale: int = 0


@dataclass(frozen=True, slots=True)
class Many:
    """An ARRAY of so many."""

    element: Ruled
    length: int


@dataclass(frozen=True, slots=True)
class Pairs:
    """A MAP of at most so many: a key that is drawn twice is in it once."""

    key: Ruled
    value: Ruled
    length: int


@dataclass(frozen=True, slots=True)
class Together:
    """A STRUCT."""

    fields: tuple[tuple[str, Ruled], ...]


Number = TypeVar("Number", Uniform, Fraction)
Rule = Uniform | Fraction | Past | Text | Octets | Sequence | Many | Pairs | Together


@dataclass(frozen=True, slots=True)
class Ruled:
    """A rule with the name and type of what it makes, and the share of NULLs."""

    path: str
    type: Type
    rule: Rule
    null_rate: float = 0.0


class _WrongError(Exception):
    """A property that cannot be; the diagnostic says why."""

    def __init__(self, diagnostic: Diagnostic) -> None:
        self.diagnostic = diagnostic


@dataclass
class _Options:
    """The properties of one column, or of a part of it, each taken once."""

    table: Table
    path: str
    given: Mapping[str, str]
    zone: tzinfo
    taken: set[str] = field(default_factory=set)
    asked: set[str] = field(default_factory=set)

    def within(self, part: str) -> _Options:
        """Those of a part."""
        return replace(self, path=f"{self.path}.{part.lower()}")

    def take(self, name: str, default: Any, parse: Callable[[str], Any]) -> Any:
        """The value of one, or what holds without it."""
        full = f"fields.{self.path}.{name}"
        self.asked.add(full)
        if full not in self.given:
            return default
        self.taken.add(full)
        try:
            return parse(self.given[full])
        except (ValueError, ArithmeticError, SqlError) as error:
            reason = error.diagnostics[0].message if isinstance(error, SqlError) else str(error)
            message = f"table {self.table.name}: '{full}' = {self.given[full][:100]!r}: {reason}"
            raise _WrongError(Diagnostic("BAD_PROPERTY", message, value_place(self.table, full))) from None

    def refuse(self, what: str, hint: str | None = None) -> NoReturn:
        """Raise the error about what they say together."""
        message = f"table {self.table.name}, {self.path}: {what}"
        raise _WrongError(Diagnostic("BAD_PROPERTY", message, self.table.span, hint=hint))


def rules_of(table: Table, zone: tzinfo = UTC) -> tuple[Ruled, ...]:
    """The rules of all columns that are made; SqlError for all that cannot be.

    A column with a DEFAULT and no rule takes that. `zone` is that of times without an offset.
    """
    given = {name: value for name, value in table.properties.items() if name.startswith("fields.")}
    found: list[Ruled] = []
    wrong: list[Diagnostic] = []
    known: set[str] = set()
    taken: set[str] = set()
    for column in table.required:
        if column.default is not None and not _is_named(column, given):
            continue
        options = _Options(table, column.name.lower(), given, zone, taken, known)
        try:
            found.append(_ruled(column, options))
        except _WrongError as error:
            wrong.append(error.diagnostic)
            taken |= {name for name in given if name.startswith(f"fields.{options.path}.")}
    wrong += [_unknown(table, name, known) for name in given if name not in taken]
    if wrong:
        raise SqlError(wrong)
    return tuple(found)


def _is_named(column: Column, given: Mapping[str, str]) -> bool:
    return any(name.startswith(f"fields.{column.name.lower()}.") for name in given)


def _ruled(column: Column, options: _Options) -> Ruled:
    found = _rule(column.type, options)
    if found.null_rate and (not column.nullable or column.name in options.table.key):
        options.refuse("the column is NOT NULL, so that 'null-rate' cannot be")
    return found


def _unknown(table: Table, name: str, known: set[str]) -> Diagnostic:
    """The error for a property of no column, or of none of its type."""
    column = name.split(".")[1] if name.count(".") > 1 else ""
    message = f"table {table.name}: '{name[:100]}' is no rule of a column"
    here, place = sorted(item for item in known if item.startswith(f"fields.{column}.")), name_place(table, name)
    if here:
        return Diagnostic("BAD_PROPERTY", message, place, did_you_mean(name, here), f"there is {', '.join(here)}")
    names = [item.name for item in table.required]
    hint = f"'fields.<column>.<rule>'; the columns are {', '.join(names)}"
    return Diagnostic("BAD_PROPERTY", message, place, did_you_mean(column, names), hint)


def _rule(kind: Type, options: _Options) -> Ruled:
    """The rule of a type."""
    style = options.take("kind", "random", _one_of("random", "sequence"))
    null_rate = options.take("null-rate", 0.0, _share)
    rule = _sequence(kind, options) if style == "sequence" else _random(kind, options)
    return Ruled(options.path, kind, rule, null_rate)


def _random(kind: Type, options: _Options) -> Rule:
    lower = kind.lower()
    head, items = type_arguments(kind) if "<" in kind else (lower, [])
    if lower in ("float", "double"):
        most = _FLOAT32_MAX if lower == "float" else _FLOAT64_MAX
        return _between(Fraction, options, (-most, most), _fraction(most))
    if match := _TEXT.fullmatch(lower):
        return _text(options, match[1], int(match[2] or 0))
    if lower == "binary":
        return Octets(_length(options, _LENGTH, _LONGEST), _varying(options))
    if head == "array":
        return Many(_rule(items[0], options.within("element")), _length(options, _ITEMS, _LONGEST))
    if head == "map":
        return _pairs(items, options)
    if head == "struct":
        return Together(tuple((name, _rule(of, options.within(name))) for name, of in struct_fields(kind)))
    return _stored(lower, options)


def _stored(kind: Type, options: _Options) -> Rule:
    """The rule of a type whose values are whole numbers where they are stored."""
    if kind == "boolean":
        return Uniform(0, 1)
    if kind in _BITS:
        most = 1 << (_BITS[kind] - 1)
        return _between(Uniform, options, (-most, most - 1), _whole(-most, most - 1))
    if match := _DECIMAL.fullmatch(kind):
        most = 10 ** int(match[1]) - 1
        return _between(Uniform, options, (-most, most), _scaled(int(match[1]), int(match[2])))
    if kind in ("date", "timestamp", "timestamp_ntz"):
        return _time(kind, options)
    if kind.startswith("time"):
        return replace(_between(Uniform, options, (0, _DAY * 10**9 - 1), _nanos(kind)), step=_time_step(kind))
    if kind.startswith("interval"):
        return _interval(kind, options)
    return options.refuse(f"there is no rule that makes {kind.upper()}", "give the column a DEFAULT, or leave it out")


def _time_step(kind: Type) -> int:
    """The nanoseconds that a TIME counts in: those of a microsecond unless it says how many digits it has."""
    digits = re.fullmatch(r"time\((\d)\)", kind)
    return int(10 ** (9 - (int(digits[1]) if digits else 6)))


def _interval(kind: Type, options: _Options) -> Rule:
    if "year" in kind or "month" in kind:
        return _between(Uniform, options, (-(1 << 31), (1 << 31) - 1), _whole(-(1 << 31), (1 << 31) - 1))
    return _between(Uniform, options, (-LARGEST, LARGEST), _micros)


def _time(kind: Type, options: _Options) -> Rule:
    """A time between two, or by the clock where neither is said."""
    past, parse = options.take("max-past", None, _micros), _moment(kind, options.zone)
    low, high = options.take("min", None, parse), options.take("max", None, parse)
    unit = _DAY * 10**6 if kind == "date" else 1
    if low is None and high is None:
        if not 0 <= (past or 0) <= _LONG_AGO:
            options.refuse("'max-past' is negative, or more than a thousand years")
        return Past(past or 0, unit)
    if low is None or high is None or past is not None:
        options.refuse("a time is between 'min' and 'max', or by the clock and 'max-past'", "give both, or neither")
    return _ordered(Uniform(low, high), options)


def _between(
    make: Callable[[Any, Any], Number],
    options: _Options,
    bounds: tuple[Any, Any],
    parse: Callable[[str], Any],
) -> Number:
    return _ordered(make(options.take("min", bounds[0], parse), options.take("max", bounds[1], parse)), options)


def _ordered(rule: Number, options: _Options) -> Number:
    if rule.low > rule.high:
        options.refuse("'min' is above 'max'")
    return rule


def _text(options: _Options, kind: str | None, most: int) -> Text:
    length = _length(options, min(_LENGTH, most) if kind == "varchar" else most or _LENGTH, most or _LONGEST)
    return Text(length, _varying(options), most if kind == "char" else 0)


def _length(options: _Options, default: int, most: int) -> int:
    found: int = options.take("length", default, _whole(0, most))
    return found


def _varying(options: _Options) -> bool:
    return bool(options.take("var-len", "false", _one_of("true", "false")) == "true")


def _pairs(items: list[Type], options: _Options) -> Pairs:
    key = _rule(items[0], options.within("key"))
    if key.null_rate:
        options.refuse("a key of a MAP is never NULL")
    return Pairs(key, _rule(items[1], options.within("value")), _length(options, _ITEMS, _LONGEST))


def _sequence(kind: Type, options: _Options) -> Sequence:
    """A sequence, which the type must hold to its end."""
    if "." in options.path:
        options.refuse("a sequence counts rows, and is no rule of a part")
    most, scale = _sequence_room(kind.lower(), options)
    parse = _whole(-most - (kind.lower() in _BITS), most)
    start, end = options.take("start", 0, parse), options.take("end", most, parse)
    if end < start:
        options.refuse("'start' is above 'end'")
    return Sequence(start, end, scale)


def _sequence_room(kind: Type, options: _Options) -> tuple[int, int]:
    """The largest number that a type holds, and its scale."""
    if kind in _BITS:
        return (1 << (_BITS[kind] - 1)) - 1, 0
    if kind in ("float", "double"):
        return 1 << (24 if kind == "float" else 53), 0
    if match := _DECIMAL.fullmatch(kind):
        return min(LARGEST, 10 ** (int(match[1]) - int(match[2])) - 1), int(match[2])
    if match := _TEXT.fullmatch(kind):
        return min(LARGEST, 10 ** (int(match[2]) - 1) - 1 if match[2] else LARGEST), 0
    return options.refuse(f"a sequence makes numbers and texts, no {kind.upper()}")


def _one_of(*words: str) -> Callable[[str], str]:
    def parse(text: str) -> str:
        if text.lower() in words:
            return text.lower()
        message = f"expected {' or '.join(words)}"
        raise ValueError(message)

    return parse


def _share(text: str) -> float:
    if 0 <= (found := float(text)) <= 1:
        return found
    message = "expected a number from 0 to 1"
    raise ValueError(message)


def _whole(low: int, high: int) -> Callable[[str], int]:
    def parse(text: str) -> int:
        if check_whole(text) is None and low <= int(text) <= high:
            return int(text)
        message = f"expected a whole number from {low} to {high}"
        raise ValueError(message)

    return parse


def _fraction(most: float) -> Callable[[str], float]:
    def parse(text: str) -> float:
        if math.isfinite(found := float(text)) and abs(found) <= most:
            return found
        message = "expected a finite number of the type"
        raise ValueError(message)

    return parse


def _scaled(precision: int, scale: int) -> Callable[[str], int]:
    def parse(text: str) -> int:
        try:
            found = Decimal(text).scaleb(scale)
        except InvalidOperation:
            found = Decimal("NaN")
        if found.is_finite() and abs(found) < 10**precision and found == found.to_integral_value():
            return int(found)
        message = f"expected a number of the type DECIMAL({precision},{scale})"
        raise ValueError(message)

    return parse


def _micros(text: str) -> int:
    """An interval in microseconds."""
    if abs(found := duration(text) // _MICRO) <= LARGEST:
        return found
    message = "it is too long"
    raise ValueError(message)


def _moment(kind: Type, zone: tzinfo) -> Callable[[str], int]:
    """A date or time as it is stored."""
    convert = converter(kind, zone)

    def parse(text: str) -> int:
        found = convert(text)
        if isinstance(found, datetime):
            return (found.replace(tzinfo=None) - _EPOCH) // _MICRO
        assert isinstance(found, date)  # noqa: S101 - the converter of dates gives nothing else
        return (found - _EPOCH.date()).days

    return parse


def _nanos(kind: Type) -> Callable[[str], int]:
    convert = converter(kind, UTC)

    def parse(text: str) -> int:
        found: time = convert(text)
        return ((found.hour * 60 + found.minute) * 60 + found.second) * 10**9 + found.microsecond * 1000

    return parse
