"""Kafka Connect's JSON: `{"schema": …, "payload": …}`, and what the schema says of the payload's values.

A DECIMAL is base64 of an integer, whose scale the schema has; dates and times are numbers, of a unit that the name of
the type says. Debezium has names of its own beside Connect's. A column of integers gets such a number as it is, a
column of text the value's text. Without a schema a value is what it looks like.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

from penstock.catalog.model import Table
from penstock.catalog.types import struct_fields, type_arguments
from penstock.steps.rows.interval_texts import day_time_text
from penstock.steps.rows.values import Unreadable

Convert = Callable[[Any], Any]

_NAMES = {"schema", "payload"}
_DAY_ZERO = date(1970, 1, 1).toordinal()
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROS = 1_000_000
_DIGITS = 38
_INTEGERS = ("tinyint", "smallint", "int", "bigint")


@dataclass(frozen=True, slots=True)
class Enveloped:
    """A payload with its schema, which may be NULL."""

    schema: Mapping[str, Any] | None
    payload: Any


@dataclass
class Connect:
    """Reads the envelopes of one table; one whose columns have these names is read as a plain object."""

    table: Table
    _kinds: dict[str, str] = field(init=False)
    _last: tuple[Any, str, Convert | None] | None = None

    def __post_init__(self) -> None:
        """The types of the columns by their names."""
        self._kinds = {column.name.lower(): column.type for column in self.table.columns}

    def opened(self, value: Any) -> Enveloped | None:
        """The parts of an envelope; None for any other value."""
        if not isinstance(value, Mapping) or value.keys() != _NAMES or _NAMES & self._kinds.keys():
            return None
        schema = value["schema"]
        plain = schema is None or (isinstance(schema, Mapping) and "type" in schema)
        return Enveloped(schema, value["payload"]) if plain else None

    def meant(self, schema: Mapping[str, Any] | None, payload: Any, *, within: str = "") -> Any:
        """A row as its schema means it; `within` is a field of the schema that holds rows."""
        if schema is None or payload is None:
            return payload
        if self._last is None or self._last[1] != within or self._last[0] != schema:
            self._last = schema, within, self._conversion(schema, within)
        convert = self._last[2]
        return payload if convert is None else convert(payload)

    def value(self, envelope: Enveloped, name: str) -> Any:
        """A payload that is the value of one column."""
        convert = None if envelope.schema is None else _of(envelope.schema, self._kinds.get(name.lower(), ""))
        return envelope.payload if convert is None or envelope.payload is None else convert(envelope.payload)

    def _conversion(self, schema: Mapping[str, Any], within: str) -> Convert | None:
        return _fields(row_schema(schema, within), self._kinds)

    def new_columns(self, schema: Mapping[str, Any] | None, *, within: str = "") -> dict[str, str]:
        """The columns that a schema has and the table lacks, with their types, where these are certain."""
        if schema is None:
            return {}
        fields = row_schema(schema, within).get("fields") or ()
        kinds = {str(item.get("field")): kind_of(item) for item in fields if isinstance(item, Mapping)}
        return {name: kind for name, kind in kinds.items() if kind and name.lower() not in self._kinds}


def row_schema(schema: Mapping[str, Any], within: str) -> Mapping[str, Any]:
    """The schema of rows: that of a field of the envelope, if it is within one."""
    fields = schema.get("fields") or ()
    found = (item for item in fields if isinstance(item, Mapping) and item.get("field") == within)
    return next(found, {}) if within else schema


def _of(schema: Any, kind: str) -> Convert | None:
    """The conversion of a schema's values for a column of a type; None if they stay as they are."""
    if not isinstance(schema, Mapping):
        return None
    name, lower = str(schema.get("name", "")), kind.lower()
    if (make := _LOGICAL.get(name)) is not None:
        convert = make(schema)
        if lower in _INTEGERS and name in _NUMBERS:
            return None
        return (lambda value: _as_text(convert(value))) if _is_text(lower) else convert
    if name == _VARIABLE and not lower.startswith("struct"):
        return (lambda value: _as_text(_variable(value))) if _is_text(lower) else _variable
    if name == _JSON and lower == "variant":
        return _parsed
    return _of_nested(schema, kind)


def _of_nested(schema: Mapping[str, Any], kind: str) -> Convert | None:
    head, below = type_arguments(kind) if kind.lower().startswith(("array<", "map<")) else ("", [])
    match schema.get("type"):
        case "struct":
            known = struct_fields(kind) if kind.lower().startswith("struct<") else []
            return _fields(schema, {name.lower(): item for name, item in known})
        case "array":
            return _each(_of(schema.get("items"), below[0] if head == "array" else ""))
        case "map":
            key, item = below if head == "map" else ("", "")
            return _entries(_of(schema.get("keys"), key), _of(schema.get("values"), item))
        case _:
            return None


def _fields(schema: Mapping[str, Any], kinds: Mapping[str, str]) -> Convert | None:
    fields = [item for item in schema.get("fields") or () if isinstance(item, Mapping) and "field" in item]
    changes = {str(item["field"]): _of(item, kinds.get(str(item["field"]).lower(), "")) for item in fields}
    wanted = {name: change for name, change in changes.items() if change is not None}
    if not wanted:
        return None

    def convert(row: Any) -> Any:
        if not isinstance(row, Mapping):
            return row
        return {
            name: wanted[name](value) if value is not None and name in wanted else value for name, value in row.items()
        }

    return convert


def _each(change: Convert | None) -> Convert | None:
    if change is None:
        return None

    def convert(values: Any) -> Any:
        if not isinstance(values, list):
            return values
        return [None if value is None else change(value) for value in values]

    return convert


def _entries(key: Convert | None, value: Convert | None) -> Convert:
    """Entries of a map: an object, or an array of pairs where its keys are no texts."""

    def convert(given: Any) -> Any:
        pairs = given.items() if isinstance(given, Mapping) else given
        if not isinstance(given, Mapping | list) or any(len(pair) != 2 for pair in pairs):  # noqa: PLR2004 - a pair
            return given
        return [(_or_same(key, name), None if item is None else _or_same(value, item)) for name, item in pairs]

    return convert


def _or_same(change: Convert | None, value: Any) -> Any:
    return value if change is None else change(value)


def _decimal(schema: Mapping[str, Any]) -> Convert:
    parameters = schema.get("parameters")
    text = str(parameters.get("scale", 0)) if isinstance(parameters, Mapping) else "0"
    scale = int(text) if text.lstrip("-").isdecimal() else 0
    return lambda value: _unscaled(value, scale) if isinstance(value, str) else value


def _unscaled(text: str, scale: int) -> Any:
    """A DECIMAL of the integer that base64 holds."""
    try:
        whole = int.from_bytes(base64.b64decode(text, validate=True), "big", signed=True)
    except ValueError:
        return Unreadable(f"found {text[:60]!r}, which is not the base64 of a Decimal")
    sign, digits = int(whole < 0), tuple(map(int, str(abs(whole))))
    return Decimal((sign, digits, -scale))


def _variable(value: Any) -> Any:
    if not isinstance(value, Mapping) or not isinstance(value.get("value"), str):
        return value
    scale = value.get("scale")
    return _unscaled(value["value"], scale if isinstance(scale, int) else 0)


def _date(_schema: Mapping[str, Any]) -> Convert:
    return date_of


def date_of(value: Any) -> Any:
    """A number of days since 1970 as a date; any other value as it is."""
    if type(value) is not int:
        return value
    try:
        return date.fromordinal(value + _DAY_ZERO)
    except (ValueError, OverflowError):
        return Unreadable(f"found the day {value} from 1970, which is no date of the years 1 to 9999")


def _timestamp(in_second: int) -> Callable[[Mapping[str, Any]], Convert]:
    def convert(value: Any) -> Any:
        if type(value) is not int:
            return value
        try:
            return _EPOCH + timedelta(microseconds=value * _MICROS // in_second)
        except OverflowError:
            return Unreadable(f"found the time {value} from 1970, which is none of the years 1 to 9999")

    return lambda _schema: convert


def _time(in_second: int) -> Callable[[Mapping[str, Any]], Convert]:
    def convert(value: Any) -> Any:
        if type(value) is not int:
            return value
        seconds, rest = divmod(value, in_second)
        try:
            return time(seconds // 3600, seconds // 60 % 60, seconds % 60, rest * _MICROS // in_second)
        except ValueError:
            return Unreadable(f"found the time of day {value}, which no day has")

    return lambda _schema: convert


def _duration(in_second: int) -> Callable[[Mapping[str, Any]], Convert]:
    def convert(value: Any) -> Any:
        return timedelta(microseconds=value * _MICROS // in_second) if type(value) is int else value

    return lambda _schema: convert


def _without_zone(_schema: Mapping[str, Any]) -> Convert:
    """A date or a time of day that is written with the zone UTC."""
    return lambda value: value.removesuffix("Z").removesuffix("+00:00") if isinstance(value, str) else value


def _parsed(value: Any) -> Any:
    try:
        return json.loads(value) if isinstance(value, str) else value
    except ValueError:
        return value


def _as_text(value: Any) -> Any:
    match value:
        case Decimal():
            return format(value, "f")
        case datetime():
            return value.replace(tzinfo=None).isoformat(" ")
        case date() | time():
            return value.isoformat()
        case timedelta():
            return day_time_text(value)
        case _:
            return value


def _is_text(kind: str) -> bool:
    return kind.startswith(("string", "varchar", "char"))


_MILLIS, _NANOS = 1_000, 1_000_000_000
_DATA, _TIME, _OWN = "org.apache.kafka.connect.data", "io.debezium.time", "io.debezium.data"
_VARIABLE, _JSON = f"{_OWN}.VariableScaleDecimal", f"{_OWN}.Json"
_LOGICAL: Mapping[str, Callable[[Mapping[str, Any]], Convert]] = {
    f"{_DATA}.Decimal": _decimal,
    f"{_DATA}.Date": _date,
    f"{_DATA}.Time": _time(_MILLIS),
    f"{_DATA}.Timestamp": _timestamp(_MILLIS),
    f"{_TIME}.Date": _date,
    f"{_TIME}.Time": _time(_MILLIS),
    f"{_TIME}.MicroTime": _time(_MICROS),
    f"{_TIME}.NanoTime": _time(_NANOS),
    f"{_TIME}.Timestamp": _timestamp(_MILLIS),
    f"{_TIME}.MicroTimestamp": _timestamp(_MICROS),
    f"{_TIME}.NanoTimestamp": _timestamp(_NANOS),
    f"{_TIME}.MicroDuration": _duration(_MICROS),
    f"{_TIME}.NanoDuration": _duration(_NANOS),
    f"{_TIME}.ZonedTime": _without_zone,
    f"{_TIME}.IsoDate": _without_zone,
    f"{_TIME}.IsoTime": _without_zone,
}
# What a column of integers takes as the number that it is.
_NUMBERS = frozenset(_LOGICAL) - {f"{_DATA}.Decimal"}

_KINDS = {
    "int8": "TINYINT", "int16": "SMALLINT", "int32": "INT", "int64": "BIGINT", "float": "FLOAT", "float32": "FLOAT",
    "double": "DOUBLE", "float64": "DOUBLE", "boolean": "BOOLEAN", "string": "STRING", "bytes": "BINARY",
}  # fmt: skip
_LOGICAL_KINDS = {
    f"{_DATA}.Date": "DATE", f"{_DATA}.Timestamp": "TIMESTAMP", f"{_TIME}.Date": "DATE", f"{_TIME}.IsoDate": "DATE",
    f"{_TIME}.Timestamp": "TIMESTAMP_NTZ", f"{_TIME}.MicroTimestamp": "TIMESTAMP_NTZ",
    f"{_TIME}.NanoTimestamp": "TIMESTAMP_NTZ", f"{_TIME}.ZonedTimestamp": "TIMESTAMP",
    f"{_TIME}.IsoTimestamp": "TIMESTAMP_NTZ",
}  # fmt: skip


def kind_of(schema: Mapping[str, Any]) -> str:
    """The type of a column that has the values of a schema; '' where the values say it."""
    name = str(schema.get("name", ""))
    if name == f"{_DATA}.Decimal":
        parameters = schema.get("parameters") or {}
        digits, scale = (str(parameters.get(item, "")) for item in ("connect.decimal.precision", "scale"))
        whole = int(digits) if digits.isdecimal() and 0 < int(digits) <= _DIGITS else _DIGITS
        return f"DECIMAL({whole}, {scale})" if scale.isdecimal() and int(scale) <= whole else "STRING"
    if name in _LOGICAL_KINDS:
        return _LOGICAL_KINDS[name]
    return "" if name in _LOGICAL or name == _VARIABLE else _KINDS.get(str(schema.get("type")), "")
