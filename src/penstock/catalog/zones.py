"""Time zones by name, and whether their clocks change.

A name is one of the IANA database (`Europe/Rome`), `UTC`, or an offset (`+05:30`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from functools import cache
from zoneinfo import ZoneInfo, available_timezones

from penstock.catalog.settings import TIME_ZONE
from penstock.errors import did_you_mean

_OFFSET = re.compile(r"([+-])(\d{1,2}):(\d{2})")
_FIRST, _LAST, _EVERY = datetime(1970, 1, 1, tzinfo=UTC), datetime(2038, 1, 1, tzinfo=UTC), timedelta(days=10)


def zone_named(name: str) -> tzinfo | None:
    """The time zone of that name, None if there is none."""
    if name.upper() in ("UTC", "LOCAL", "Z", "GMT"):
        return UTC
    if found := _OFFSET.fullmatch(name):
        hours, minutes = int(found[2]), int(found[3])
        offset = timedelta(hours=hours, minutes=minutes)
        largest = 18  # hours, as in Spark
        return timezone(-offset if found[1] == "-" else offset) if hours < largest and minutes < 60 else None  # noqa: PLR2004
    try:
        return ZoneInfo(name)
    except (KeyError, OSError, ValueError):  # no such name, or none that could be a file's
        return None


def near_zones(name: str) -> tuple[str, ...]:
    """The names that one which is no zone's may be meant to be."""
    return did_you_mean(name, sorted(available_timezones()))


def is_fixed(name: str) -> bool:
    """True if the zone is one distance from UTC, at all times; of the named ones UTC alone."""
    return name.upper() == "ETC/UTC" or isinstance(zone_named(name), timezone)


@cache
def origin_offset(name: str) -> int:
    """The number of microseconds that the zone was ahead of UTC when its own clock showed 1970-01-01 00:00."""
    zone = zone_named(name)
    if zone is None:
        return 0
    offset = datetime(1970, 1, 1, tzinfo=zone).utcoffset() or timedelta(0)
    return round(offset / timedelta(microseconds=1))


@cache
def clocks_change(name: str) -> bool:
    """True if the zone's distance from UTC has changed since 1970, or will in the years known."""
    zone = zone_named(name)
    if zone is None or isinstance(zone, timezone):
        return False
    return len(_offsets(zone)) > 1


@dataclass(frozen=True)
class Shifts:
    """The moves of a zone's clock since 1970: no distance from UTC was `most` hours more than another.

    `dates`: whether it was put back over the beginning of an hour, so that a date came, went, and came again.
    """

    most: int = 0
    dates: bool = False


NO_SHIFTS = Shifts()


def session_shifts(settings: Mapping[str, str]) -> Shifts:
    """Those of the session's zone; a zone of one distance from UTC has none."""
    named = settings.get(TIME_ZONE, "UTC").strip("'\"")
    return NO_SHIFTS if is_fixed(named) else _shifts(named)


@cache
def _shifts(name: str) -> Shifts:
    zone = zone_named(name)
    if zone is None:
        return Shifts(24, dates=True)
    found = _offsets(zone)
    most = -((min(found) - max(found)) // timedelta(hours=1))
    return Shifts(max(most, 1), dates=not repeats_within_hours(name))


@cache
def repeats_within_hours(name: str) -> bool:
    """True if no hour begins inside what the zone's clock shows twice, so that hours begin in the order of time."""
    zone = zone_named(name)
    if zone is None:
        return False
    moment, hour = _FIRST, timedelta(hours=1)
    while moment < _LAST:
        before, after = _offset(moment, zone), _offset(moment + _EVERY, zone)
        if after < before:
            shown = (_change(moment, zone) + before).replace(tzinfo=None) - datetime(1970, 1, 1)  # noqa: DTZ001
            behind = shown % hour or hour
            if before - after > behind:
                return False
        moment += _EVERY
    return True


def _offsets(zone: tzinfo) -> set[timedelta]:
    """The zone's distances from UTC in the years known."""
    return {_offset(_FIRST + number * _EVERY, zone) for number in range((_LAST - _FIRST) // _EVERY)}


def _offset(moment: datetime, zone: tzinfo) -> timedelta:
    return moment.astimezone(zone).utcoffset() or timedelta(0)


def _change(moment: datetime, zone: tzinfo) -> datetime:
    """The second at which the distance from UTC changes within the days after a moment."""
    first, last, before = moment, moment + _EVERY, _offset(moment, zone)
    while last - first > timedelta(seconds=1):
        middle = first + (last - first) // 2
        first, last = (middle, last) if _offset(middle, zone) == before else (first, middle)
    return last.replace(microsecond=0)
