"""The properties by which a result is refined, as a value: when its first, complete and last form are shown.

    'first_result' = '-15 minutes', 'update_rate' = '3 minutes', 'late_updates' = 'on', 'last_result' = '15 minutes'

They stand in SETTINGS of a query that stands, or in WITH of a view.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from types import MappingProxyType
from typing import NoReturn

from penstock.catalog.model import REFINEMENT
from penstock.errors import Diagnostic, Span, SqlError
from penstock.plan.emission import Batch, Refine, Trigger

NAMES = FIRST, COMPLETE, RATE, UPDATES, LAST, STATE = REFINEMENT
_NONE = timedelta(0)
_NOWHERE: Mapping[str, Span | None] = MappingProxyType({})
_SWITCH = {"on": True, "true": True, "1": True, "off": False, "false": False, "0": False}
_DISTANCE = re.compile(r"(?i)\s*([+-]?)\s*(?:interval\s+)?'?\s*(\d+)\s*'?\s*([a-z]*)\s*")
_ROWS = re.compile(r"(?i)\s*(?:count\s*\(\s*(\d+)\s*\)|(\d+)\s*(?:rows?)?)\s*")
_UNITS: Mapping[str, str] = {
    "us": "microseconds", "microsecond": "microseconds", "ms": "milliseconds", "millisecond": "milliseconds",
    "s": "seconds", "second": "seconds", "m": "minutes", "minute": "minutes", "h": "hours", "hour": "hours",
    "d": "days", "day": "days",
}  # fmt: skip


def is_refined(properties: Mapping[str, str]) -> bool:
    """True if one of the properties stands there."""
    return any(name in properties for name in NAMES)


def refinement(
    properties: Mapping[str, str], *, windowed: bool, places: Mapping[str, Span | None] = _NOWHERE
) -> Trigger | None:
    """The trigger that the properties say together; None without any. SqlError, at its place, for what cannot be."""
    if not is_refined(properties):
        return None
    with _at(places):
        return _trigger(properties, windowed=windowed)


def _trigger(properties: Mapping[str, str], *, windowed: bool) -> Trigger:
    rate = _rate(properties.get(RATE))
    if not windowed:
        return _of_running_result(properties, rate)
    every, rows = (None, rate) if isinstance(rate, int) else (rate, 1)
    complete = _distance(properties, COMPLETE, _NONE)
    first = _distance(properties, FIRST, complete)
    updates, stated = _switch(properties, UPDATES), _switch(properties, STATE)
    last = _distance(properties, LAST, complete)
    if complete < _NONE:
        _refuse(COMPLETE, f"{COMPLETE} is before the window has ended", f"{FIRST} may be negative")
    if first > complete:
        _refuse(FIRST, f"{FIRST} is behind {COMPLETE}", "the first result is the complete one, or before it")
    if last < complete:
        _refuse(LAST, f"{LAST} is before {COMPLETE}", "the last result is the complete one, or behind it")
    if updates and LAST not in properties:
        _refuse(UPDATES, f"{UPDATES} without {LAST}", f"say until when late rows count, as in {LAST} = '15 minutes'")
    return Refine(first, complete, last, every, updates, stated, rows)


def counts_rows(properties: Mapping[str, str], places: Mapping[str, Span | None] = _NOWHERE) -> bool:
    """True if results are updated after more rows than one."""
    with _at(places):
        rate = _rate(properties.get(RATE))
    return isinstance(rate, int) and rate > 1


def _of_running_result(properties: Mapping[str, str], rate: timedelta | int) -> Batch:
    """A result that is never complete is updated at its rate."""
    for name in (FIRST, COMPLETE, UPDATES, LAST, STATE):
        if name in properties:
            message = f"{name} is a distance from the end of a window, and the query is over none"
            _refuse(name, message, f"{RATE} goes with any query; GROUP BY window_end makes results of windows")
    return Batch(rows=rate) if isinstance(rate, int) else Batch(rate)


def _rate(text: str | None) -> timedelta | int:
    """The interval between updates, or the number of rows."""
    if text is None:
        return 1
    counted = _ROWS.fullmatch(text)
    span = _span(RATE, text) if counted is None else _NONE
    rows = 0 if counted is None else int(counted.group(1) or counted.group(2))
    if span <= _NONE and not rows:
        _refuse(RATE, f"{RATE} {text!r} is not above zero", f"as in {RATE} = '5 minutes', or 'count(100)'")
    return rows or span


def _distance(properties: Mapping[str, str], name: str, default: timedelta) -> timedelta:
    return _span(name, properties[name]) if name in properties else default


def _span(name: str, text: str) -> timedelta:
    found = _DISTANCE.fullmatch(text)
    unit = None if found is None else _unit(found.group(3))
    if found is None or (unit is None and int(found.group(2))):
        _refuse(name, f"{name} is an interval, found {text[:60]!r}", f"as in {name} = '10 minutes'")
    span = timedelta(**{unit or "seconds": int(found.group(2))})
    return -span if found.group(1) == "-" else span


def _unit(word: str) -> str | None:
    if word in _UNITS:
        return _UNITS[word]
    lower = word.lower()
    return _UNITS.get(lower.rstrip("s") if len(lower) > 2 else "")  # noqa: PLR2004 - M is a month, and refused


def _switch(properties: Mapping[str, str], name: str) -> bool:
    value = properties.get(name, "off").lower()
    if value not in _SWITCH:
        _refuse(name, f"{name} is on or off, found {value[:60]!r}", f"{name} = 'on'")
    return _SWITCH[value]


class _RefusedError(Exception):
    """A property cannot be as it is."""

    def __init__(self, name: str, message: str, hint: str) -> None:
        self.name, self.message, self.hint = name, message, hint
        super().__init__(message)


def _refuse(name: str, message: str, hint: str) -> NoReturn:
    raise _RefusedError(name, message, hint)


@contextmanager
def _at(places: Mapping[str, Span | None]) -> Iterator[None]:
    """Refuse a property at its place."""
    try:
        yield
    except _RefusedError as refused:
        place = places.get(refused.name)
        raise SqlError(Diagnostic("REFINEMENT", refused.message, place, hint=refused.hint)) from None


# Flink's settings

EARLY, EARLY_DELAY = "table.exec.emit.early-fire.enabled", "table.exec.emit.early-fire.delay"
LATE, LATE_DELAY = "table.exec.emit.late-fire.enabled", "table.exec.emit.late-fire.delay"
LATENESS = "table.exec.emit.allow-lateness"
FLINK = (EARLY, EARLY_DELAY, LATE, LATE_DELAY, LATENESS)
_DURATION = re.compile(r"\s*(\d+)\s*([A-Za-z]*)\s*")
_FLINK_UNITS: Mapping[str, str] = {"": "ms", "min": "minutes", "sec": "seconds", "milli": "ms", "micro": "us"}


def check_flink(name: str, value: str, place: Span | None) -> None:
    """SqlError at a place for a value that one of Flink's settings of early and late results cannot have."""
    with _at({name: place}):
        if name in (EARLY, LATE):
            _switch({name: value}, name)
        elif name in FLINK:
            _duration(name, value)


def of_flink(settings: Mapping[str, str], place: Span | None = None) -> dict[str, str]:
    """The properties that Flink's settings of early and late results stand for, but for the delay of early ones.

    SqlError at a place for one that needs another.
    """
    with _at(dict.fromkeys(FLINK, place)):
        return _properties_of(settings)


def _properties_of(settings: Mapping[str, str]) -> dict[str, str]:
    early, late = (_switch(settings, name) for name in (EARLY, LATE))
    allowed = settings.get(LATENESS)
    if late and allowed is None:
        _refuse(LATE, f"{LATE} without {LATENESS}", f"say for how long, as in SET '{LATENESS}' = '10 min'")
    found: dict[str, str] = {}
    if early:
        found[FIRST] = "-36500 days"
    if allowed is not None:
        found[LAST] = f"{_duration(LATENESS, allowed) // timedelta(microseconds=1)} us"
        found[UPDATES] = "on"
    return found


def early_delay(settings: Mapping[str, str]) -> timedelta | None:
    """The delay by the clock between early results; None where each row makes one, or none are wanted."""
    text = settings.get(EARLY_DELAY)
    with _at(_NOWHERE):
        return None if text is None or not _switch(settings, EARLY) else _duration(EARLY_DELAY, text) or None


def _duration(name: str, text: str) -> timedelta:
    """A duration as Flink writes it: `10 min`, `5sec`, in milliseconds without a unit; SqlError for one below zero."""
    found = _DURATION.fullmatch(text)
    if found is None:
        _refuse(name, f"{name} is a duration from 0 on, found {text[:60]!r}", f"as in SET '{name}' = '10 min'")
    number, word = found.group(1), found.group(2).lower()
    return _span(name, f"{number} {_FLINK_UNITS.get(word.rstrip('s') if len(word) > 2 else word, word)}")  # noqa: PLR2004 - ms is none of several
