"""Dates and times as Spark wrote them before 3.0, or in its legacy mode: by the Julian calendar before 1582-10-15.

Such a file says so in its metadata, and in which zone its times were made. A day that the Julian calendar writes as
1000-01-01 is read as the day that the calendar of today writes so. Java's old times of a zone were its standard time of
today until 1900, where the zone's own local time is meant now; that is set right as well.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import pyarrow as pa
import pyarrow.compute as pc

from penstock.backends.leaves import changed_leaves, leaf_types

_VERSION, _ZONE = "org.apache.spark.version", "org.apache.spark.timeZone"
_DATETIME, _INT96 = "org.apache.spark.legacyDateTime", "org.apache.spark.legacyINT96"
_SWITCH = -141_427  # the day 1582-10-15, from 1970
_DAY = 86_400_000_000
_YEAR_1900 = -2_208_988_800_000_000
_JULIAN, _GREGORIAN, _EPOCH = 32_083, 32_045, 2_440_588
_FIRST, _LAST = datetime(1, 1, 2), datetime(9999, 12, 30)  # noqa: DTZ001 - local times


@dataclass(frozen=True)
class LegacyCalendar:
    """The calendar of one file, and the zone of its times."""

    zone: tzinfo = UTC

    def date(self, day: int) -> int:
        """The day from 1970 that is meant by one of the file."""
        return day if day >= _SWITCH else _same_date(day)

    def time(self, micros: int) -> int:
        """The microsecond from 1970 that is meant by one of the file."""
        if micros >= self._end:
            return micros
        local = micros + self._standard
        day, rest = divmod(local, _DAY)
        return self._instant(self.date(day) * _DAY + rest)

    @property
    def _end(self) -> int:
        return _SWITCH * _DAY if self.zone is UTC else _YEAR_1900

    @property
    def _standard(self) -> int:
        """The microseconds by which the zone's standard time of today is ahead of UTC."""
        now = datetime(2020, 1, 1, tzinfo=UTC).astimezone(self.zone)
        return _micros((now.utcoffset() or timedelta()) - (now.dst() or timedelta()))

    def _instant(self, local: int) -> int:
        """The point in time of a local one."""
        try:
            wall = datetime(1970, 1, 1) + timedelta(microseconds=local)  # noqa: DTZ001 - a local time
        except OverflowError:
            wall = _FIRST
        offset = min(max(wall, _FIRST), _LAST).replace(tzinfo=self.zone).utcoffset()
        return local - _micros(offset or timedelta())

    def dates(self, values: pa.Array) -> pa.Array:
        """An array of days."""
        return _mapped(values, pa.int32(), self.date, _SWITCH)

    def times(self, values: pa.Array) -> pa.Array:
        """An array of points in time, of any unit."""
        return _mapped(values.cast(pa.timestamp("us", tz=values.type.tz)), pa.int64(), self.time, self._end)


@dataclass(frozen=True)
class FileCalendars:
    """The legacy calendars of a file's dates and times, and of its times in INT96; None where they are today's."""

    datetime: LegacyCalendar | None = None
    int96: LegacyCalendar | None = None

    def meant(self, column: pa.ChunkedArray, is_int96: tuple[bool, ...]) -> pa.ChunkedArray:
        """A column of the file as it is meant; `is_int96` says it of each leaf."""

        def change(values: pa.Array, number: int) -> pa.Array:
            kind = values.type
            if pa.types.is_timestamp(kind) and is_int96[number]:
                return values if self.int96 is None else self.int96.times(values)
            if self.datetime is None:
                return values
            if pa.types.is_timestamp(kind) and kind.tz is not None:  # no calendar was applied to others
                return self.datetime.times(values)
            return self.datetime.dates(values) if pa.types.is_date32(kind) else values

        temporal = any(pa.types.is_date32(kind) or pa.types.is_timestamp(kind) for kind in leaf_types(column.type))
        return changed_leaves(column, change) if temporal else column


def calendars_of(metadata: Mapping[str, str]) -> FileCalendars:
    """The calendars that the metadata of a Parquet or Avro file tell of."""
    calendar = LegacyCalendar(_zone(metadata.get(_ZONE, "")))
    version = _version(metadata.get(_VERSION))
    return FileCalendars(
        calendar if version < (3, 0) or _DATETIME in metadata else None,
        calendar if version < (3, 1) or _INT96 in metadata else None,
    )


def _version(text: str | None) -> tuple[int, ...]:
    """The release of Spark that wrote a file; one that is not said is taken to be new."""
    parts = (text or "9").split(".")[:2]
    return tuple(int(part) if part.isdecimal() else 0 for part in parts)


def _zone(name: str) -> tzinfo:
    try:
        return UTC if name in ("", "UTC", "GMT", "Etc/UTC", "Z") else ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return UTC


def _mapped(values: pa.Array, numbers: pa.DataType, meant: Callable[[int], int], end: int) -> pa.Array:
    """Days or times with those before `end` replaced, each different one computed once."""
    given = values.cast(numbers)
    old = pc.less(given, pa.scalar(end, numbers))
    if not pc.any(old).as_py():
        return values
    before = pc.unique(given.filter(old))
    after = pa.array([meant(value) for value in before.to_pylist()], numbers)
    places = pc.index_in(given, value_set=before)
    return pc.coalesce(after.take(places), given).cast(values.type)


def _micros(span: timedelta) -> int:
    return span // timedelta(microseconds=1)


def _same_date(day: int) -> int:
    """The day of today's calendar with the date that the Julian calendar has; a 29 February may be 1 March."""
    count = day + _EPOCH + _JULIAN - 1
    year = (4 * count + 3) // 1461
    of_year = count - 1461 * year // 4
    month = (5 * of_year + 2) // 153
    of_month = of_year - (153 * month + 2) // 5 + 1
    return of_month + (153 * month + 2) // 5 + 365 * year + year // 4 - year // 100 + year // 400 - _GREGORIAN - _EPOCH
