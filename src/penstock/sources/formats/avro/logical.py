"""The values of Avro's logical types, made of the plain ones below them.

A value that the logical type does not have, such as a time beyond the year 9999, is `Unreadable`, which fits no column:
its row alone is rejected.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

from penstock.sources.formats.legacy_calendar import LegacyCalendar
from penstock.steps.rows.values import Unreadable

Convert = Callable[[Any], Any]

_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 - points in time are naive UTC datetimes
_DAY_ZERO = date(1970, 1, 1).toordinal()
_A_SECOND = {"millis": 1_000, "micros": 1_000_000, "nanos": 1_000_000_000}
_MICROS = 1_000_000


def logical(schema: Mapping[str, Any], calendar: LegacyCalendar | None = None) -> Convert | None:
    """The conversion of a schema's logical type; None if it has none that changes a value.

    `calendar` is that of dates and points in time which were written by another than today's.
    """
    kind, below = str(schema.get("logicalType")), schema.get("type")
    name, _, unit = kind.rpartition("-")
    if kind == "decimal" and below in ("bytes", "fixed"):
        return _decimal(int(schema.get("scale", 0)))
    if kind == "date" and below == "int":
        return _date if calendar is None else lambda value: _date(calendar.date(value))
    if unit in _A_SECOND and name in ("timestamp", "local-timestamp") and below == "long":
        return _timestamp(_A_SECOND[unit], local=name.startswith("local"), calendar=calendar)
    if unit in _A_SECOND and name == "time" and below in ("int", "long"):
        return _time(_A_SECOND[unit])
    return None


def _decimal(scale: int) -> Convert:
    def convert(value: bytes) -> Decimal:
        return Decimal(int.from_bytes(value, "big", signed=True)).scaleb(-scale)

    return convert


def _date(value: int) -> Any:
    try:
        return date.fromordinal(value + _DAY_ZERO)
    except (ValueError, OverflowError):
        return Unreadable(f"found the day {value} from 1970, which is no date of the years 1 to 9999")


def _timestamp(in_second: int, *, local: bool, calendar: LegacyCalendar | None) -> Convert:
    def convert(value: int) -> Any:
        micros = value * _MICROS // in_second
        if calendar is not None and not local:
            micros = calendar.time(micros)
        try:
            found = _EPOCH + timedelta(microseconds=micros)
        except OverflowError:
            return Unreadable(f"found the time {value} from 1970, which is none of the years 1 to 9999")
        return found if local else found.replace(tzinfo=UTC)

    return convert


def _time(in_second: int) -> Convert:
    def convert(value: int) -> Any:
        seconds, rest = divmod(value, in_second)
        try:
            return time(seconds // 3600, seconds // 60 % 60, seconds % 60, rest * _MICROS // in_second)
        except ValueError:
            return Unreadable(f"found the time of day {value}, which no day has")

    return convert
