"""A coarser reading of a time is one of a finer: the day of a time is the day of its hour.

    FLOOR(at TO DAY)            with  hour = FLOOR(at TO HOUR)       FLOOR(hour TO DAY)
    YEAR(at)                    with  hour = FLOOR(at TO HOUR)       YEAR(hour)
    TUMBLE of a day             with  w = TUMBLE of 6 hours          TUMBLE of a day over w
    at >= TIMESTAMP '… 10:00'   with  hour = FLOOR(at TO HOUR)       hour >= TIMESTAMP '… 10:00'

That goes where each finer unit lies within one coarser. A week lies within no month. In zones other than UTC an hour
may lie in two days, so there only units from the day on go by each other, and no constant is taken to be a boundary.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from penstock.catalog.settings import UTC as ZONE_UTC
from penstock.catalog.types import Type
from penstock.plan.forms import Call, Cast, Constant, Form, Keyword, Reference, swapped

# Each unit with those of which each lies within one of it.
_WITHIN: dict[str, frozenset[str]] = {}
for _unit, _directly in (
    ("MICROSECOND", ""),
    ("MILLISECOND", "MICROSECOND"),
    ("SECOND", "MILLISECOND"),
    ("MINUTE", "SECOND"),
    ("HOUR", "MINUTE"),
    ("DAY", "HOUR"),
    ("WEEK", "DAY"),
    ("MONTH", "DAY"),
    ("QUARTER", "MONTH"),
    ("YEAR", "QUARTER"),
):
    _WITHIN[_unit] = frozenset({_unit}) | _WITHIN.get(_directly, frozenset())
_BY_CALENDAR = frozenset({"DAY", "WEEK", "MONTH", "QUARTER", "YEAR"})  # in whatever zone
_OF_DATES = _BY_CALENDAR - {"DAY"}  # what trunc() knows; of others it gives NULL
_SPELLED = {
    **{unit: unit for unit in _WITHIN},
    **dict.fromkeys(["YYYY", "YY"], "YEAR"),
    **dict.fromkeys(["MM", "MON"], "MONTH"),
    "DD": "DAY",
}
_MICROS = {"SECOND": 10**6, "MINUTE": 60 * 10**6, "HOUR": 3600 * 10**6, "DAY": 24 * 3600 * 10**6}
# What a part of a time is one value of: the hour of the day is the same in all of an hour.
_PARTS = {
    **{name: name.upper() for name in ("year", "quarter", "month", "day", "hour", "minute", "second")},
    **dict.fromkeys(["dayofmonth", "dayofweek", "dayofyear", "weekday", "to_date", "date"], "DAY"),
    "weekofyear": "WEEK",
    "last_day": "MONTH",
}
_EXTRACTED = {
    **{unit: unit for unit in ("YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE")},
    **dict.fromkeys(["DAYOFWEEK", "DOW", "DOY"], "DAY"),
    "YEAROFWEEK": "WEEK",
}
_TURNED = {"<": ">", ">=": "<=", ">": "<", "<=": ">="}
_BY_START = frozenset({"<", ">="})  # the sides of a boundary, of which the later begins with it
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class _Reading:
    """A time as something reads it: in units, or in windows of so many microseconds from an origin.

    `cuts` is true for what gives the beginning of the unit, which is a time in it.
    """

    time: Form
    unit: str = ""
    micros: int = 0
    origin: int = 0
    cuts: bool = False


class CoarserTimes:
    """The times that a relation has in units only: `finer` has the form of each with the column in which it is."""

    def __init__(self, finer: Mapping[Form, Form], types: Mapping[str, Type | None], zone: str) -> None:
        self._types = types
        self._is_utc = zone == ZONE_UTC
        readings = ((self._reading(form), column) for form, column in finer.items())
        self._finer = [(reading, column) for reading, column in readings if reading is not None and reading.cuts]

    def said(self, form: Form) -> Form | None:
        """A form over a time as one over what is finer and there; None if nothing is."""
        found = self._compared(form)
        if found is not None:
            return found
        wanted = self._reading(form)
        for reading, column in () if wanted is None else self._finer:
            if wanted is not None and reading.time == wanted.time and self._lies_within(reading, wanted):
                return swapped(form, lambda item, time=reading.time, to=column: to if item == time else None)  # type: ignore[misc]
        return None

    def _lies_within(self, finer: _Reading, coarser: _Reading) -> bool:
        """True if each unit of the one lies within one unit of the other."""
        if finer.micros and coarser.micros and not (finer.unit and coarser.unit):
            apart = finer.origin - coarser.origin
            return coarser.micros % finer.micros == 0 and apart % finer.micros == 0
        if coarser.unit and finer.micros and not finer.unit:
            whole = next((unit for unit, micros in _MICROS.items() if micros % finer.micros == 0), "")
            return self._is_utc and finer.origin % finer.micros == 0 and whole in _WITHIN[coarser.unit]
        by_calendar = {finer.unit, coarser.unit} <= _BY_CALENDAR
        return bool(coarser.unit) and (self._is_utc or by_calendar) and finer.unit in _WITHIN[coarser.unit]

    # What is read

    def _reading(self, form: Form) -> _Reading | None:
        found = self._in_units(form) or _in_windows(form)
        return found if found is not None and self._is_time(found.time) else None

    def _is_time(self, form: Form) -> bool:
        """True for a column of moments, by which the units go; of other times only in UTC, where they are the same."""
        kind = self._types.get(form.name) if isinstance(form, Reference) else None
        return kind == "timestamp" or (self._is_utc and kind in ("timestamp_ntz", "date"))

    def _in_units(self, form: Form) -> _Reading | None:
        match form:
            case Call("floor to", (time, Keyword(word))):
                return self._cut(time, word)
            case Call("date_trunc", (Constant(word, "string"), time)):
                return self._cut(time, word)
            case Call("trunc", (time, Constant(word, "string"))) if _SPELLED.get(word.upper()) in _OF_DATES:
                return self._cut(time, word)
            case Cast(time, "date"):
                return self._cut(time, "DAY")
            case Call("date" | "to_date", (time,)):
                return self._cut(time, "DAY")
            case Call("extract", (Keyword(word), time)) if word.upper() in _EXTRACTED:
                return _Reading(time, _EXTRACTED[word.upper()])
            case Call(function, (time,)) if function in _PARTS:
                return _Reading(time, _PARTS[function])
            case _:
                return None

    def _cut(self, time: Form, word: str) -> _Reading | None:
        unit = _SPELLED.get(word.upper())
        if unit is None:
            return None
        return _Reading(time, unit, _MICROS.get(unit, 0) if self._is_utc else 0, cuts=True)

    # Conditions

    def _compared(self, form: Form) -> Form | None:
        """A comparison with a boundary between units, and IS NULL: units have all that their times have of these."""
        match form:
            case Call("is null", (time,)):
                column = next((column for reading, column in self._finer if reading.time == time), None)
                return None if column is None else Call("is null", (column,))
            case Call(sign, (left, right)) if sign in _TURNED:
                return self._on_boundary(sign, left, right) or self._on_boundary(_TURNED[sign], right, left)
            case _:
                return None

    def _on_boundary(self, sign: str, time: Form, constant: Form) -> Form | None:
        moment = _moment(constant) if self._is_utc and sign in _BY_START and self._is_time(time) else None
        for reading, column in () if moment is None else self._finer:
            if moment is not None and reading.time == time and _begins(reading, moment):
                return Call(sign, (column, constant))
        return None


def _in_windows(form: Form) -> _Reading | None:
    """The beginning of a TUMBLE window, as it is counted in microseconds."""
    match form:
        case Call("timestamp_micros", (Call("-", (read, Call("pmod", (counted, length)))),)):
            time, micros, origin = _read_time(read), _number(length), _origin(counted, read)
            if time is None or origin is None or not micros:
                return None
            return _Reading(time, "", micros, origin, cuts=True)
        case _:
            return None


def _read_time(form: Form) -> Form | None:
    match form:
        case Call("unix_micros", (Cast(Reference() as time, "timestamp"),)):
            return time
        case _:
            return None


def _origin(counted: Form, read: Form) -> int | None:
    if counted == read:
        return 0
    match counted:
        case Call("-", (first, origin)) if first == read:
            return _number(origin)
        case _:
            return None


def _number(form: Form) -> int | None:
    match form:
        case Call("-", (inner,)):
            found = _number(inner)
            return None if found is None else -found
        case Cast(inner):
            return _number(inner)
        case Constant() if form.is_whole:
            return int(form.value)
        case _:
            return None


def _moment(form: Form) -> datetime | None:
    """The moment in UTC of a literal that is a whole time."""
    match form:
        case Cast(Constant(text, "string"), "timestamp" | "timestamp_ntz" | "date" as kind, literal=True):
            return _read_moment(text) if kind != "date" or len(text) == len("2024-01-01") else None
        case _:
            return None


def _read_moment(text: str) -> datetime | None:
    for layout in ("%Y-%m-%d", "%Y-%m-%d %H:%M", "%Y-%m-%d %H:%M:%S", "%Y-%m-%d %H:%M:%S.%f"):
        try:
            return datetime.strptime(text, layout).replace(tzinfo=UTC)
        except ValueError:
            continue
    return None


def _begins(reading: _Reading, moment: datetime) -> bool:
    """True if a unit, or a window, begins at a moment of UTC."""
    if reading.micros:
        return ((moment - _EPOCH) // timedelta(microseconds=1) - reading.origin) % reading.micros == 0
    months = {"MONTH": 1, "QUARTER": 3, "YEAR": 12}.get(reading.unit, 0)
    first = moment == moment.replace(day=1, hour=0, minute=0, second=0, microsecond=0)
    return bool(months) and first and (moment.month - 1) % months == 0
