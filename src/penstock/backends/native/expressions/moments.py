"""Texts that Spark reads as times: `2024-02-29`, `2024-2-9 1:30`, `-0044-03-15T12:00:00.5+01:00`, `12:30:00 UTC`.

A zone may be an offset, with or without UTC, GMT or UT before it. One that is named by its region, as Europe/Paris, has
rules that only Spark's Java knows: such a text is asked of it (`native.asked`). A time without a day is one of today.
"""

from __future__ import annotations

from penstock.backends.native.asked import ASKED
from penstock.backends.native.expressions.once import once
from penstock.backends.native.expressions.texts import AROUND, date_of_parts
from penstock.catalog.types import Type

_BLANKS = r"[\x00-\x20]*"  # what Java trims off a zone
_OFFSET = "[0-9]{1,2}|[0-9]{4}(?:[0-9]{2})?|[0-9]{1,2}:[0-9]{1,2}|[0-9]{1,2}:[0-9]{2}:[0-9]{2}"
_ZONE = rf"(?:{_BLANKS}(?:Z|(?:UTC|GMT|UT)?([+-])({_OFFSET})|UTC|GMT|UT))?"
_REGION = rf"{_BLANKS}[A-Za-z][A-Za-z0-9~/._+-]+"
_CLOCK = "([0-9]{1,2})(?::([0-9]{1,2})(?::([0-9]{1,2})(?:[.]([0-9]*))?"  # what may follow the seconds, `_BEHIND` closes
_BEHIND = ")?)?"
_DAY = rf"{AROUND}([+-]?[0-9]{{4,6}})(?:-([0-9]{{1,2}})(?:-([0-9]{{1,2}})(?:[ T]{_CLOCK}"
_BEHIND_DAY = rf"{_BEHIND})?)?)?{AROUND}"
_PARTS = ("year", "month", "day", "hour", "minute", "second", "fraction", "sign", "away")
_MINUTE, _SECOND = ":[0-9]{1,2}", ":[0-9]{1,2}(?:[.][0-9]*)?"
_REST = f"{_MINUTE}(?:{_SECOND}{_ZONE})?"
_BARE = f"(?:T[0-9]{{1,2}}(?:{_REST})?|{AROUND}[0-9]{{1,2}}{_REST}){AROUND}"
_ZONED = rf"(?:{_DAY}{_ZONE}{_BEHIND_DAY}|{_BARE})"
_NAMED = rf"(?:{_DAY}{_REGION}{_BEHIND_DAY}|(?:T|{AROUND})[0-9]{{1,2}}{_MINUTE}{_SECOND}{_REGION}{AROUND})"
_USUAL = "[1-9][0-9]{3}-[0-9]{2}-[0-9]{2}[ T](?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:[.][0-9]{1,6})?Z?"
_DAY_MICROS = 86_400_000_000
_LEAST, _MOST = -(1 << 63), (1 << 63) - 1
_FARTHEST = 18 * 3600  # seconds of an offset


def moment_of_text(text: str, target: Type) -> str:
    """SQL of the time, which is NULL where the text has none."""
    usual = f"TRY_CAST(rtrim({text}, 'Z') AS TIMESTAMP)"
    asked = f"make_timestamp({ASKED}('{target}', {text}))"
    return (
        f"CASE WHEN regexp_full_match({text}, '{_USUAL}') THEN {usual}"
        f" WHEN regexp_full_match({text}, '{_ZONED}') THEN {_read(text, target)}"
        f" WHEN regexp_full_match({text}, '{_NAMED}') THEN {asked} END"
    )


def _read(text: str, target: Type) -> str:
    """Taken apart by one pattern; a time without a day is first given one."""
    bare = f"regexp_full_match({text}, '{_BARE}')"
    clock = rf"regexp_replace({text}, '^(?:T|{AROUND})', '')"
    dated = f"CASE WHEN {bare} THEN '1970-01-01T' || {clock} ELSE {text} END"
    names = ", ".join(f"'{name}'" for name in _PARTS)
    parts = f"regexp_extract({dated}, '^{_DAY}{_ZONE}{_BEHIND_DAY}$', [{names}])"
    return once([parts, bare], lambda found, today: _moment(found, today, target))


def _moment(parts: str, bare: str, target: Type) -> str:
    """The time of the parts, each of which is a text of digits, or empty."""
    numbers = {name: f"coalesce(TRY_CAST({parts}.{name} AS BIGINT), 0)" for name in _PARTS[3:6]}
    day = date_of_parts(f"{parts}.year", f"{parts}.month", f"{parts}.day")
    fraction = f"CAST(left(rpad({parts}.fraction, 6, '0'), 6) AS BIGINT)"
    seconds = f"({numbers['hour']} * 3600 + {numbers['minute']} * 60 + {numbers['second']})"
    inside = f"{numbers['hour']} < 24 AND {numbers['minute']} < 60 AND {numbers['second']} < 60"

    def at(away: str) -> str:
        micros = f"(CAST({day} - DATE '1970-01-01' AS HUGEINT) * {_DAY_MICROS} + {seconds} * 1000000 + {fraction})"
        if target == "timestamp":
            passed = f"(epoch_us(now()) + {away} * 1000000)"  # days until today, where the clock is so far away
            today = f"CASE WHEN {bare} THEN ({passed} // {_DAY_MICROS}) * {_DAY_MICROS} ELSE 0 END"
            micros = f"({micros} - {away} * 1000000 + {today})"
            there = f"{inside} AND {away} IS NOT NULL"
        else:
            there = f"{inside} AND {away} IS NOT NULL AND NOT {bare}"
        value = once([micros], lambda known: f"CASE WHEN {known} BETWEEN {_LEAST} AND {_MOST} THEN {known} END")
        return f"CASE WHEN {there} THEN make_timestamp(CAST({value} AS BIGINT)) END"

    return once([_seconds_away(f"{parts}.sign", f"{parts}.away")], at)


def _seconds_away(sign: str, offset: str) -> str:
    """The seconds of an offset, NULL for one that there is not: `8`, `08:00`, `0800`, `8:5`, `010203`."""
    places = [
        f"coalesce(TRY_CAST(CASE WHEN contains({offset}, ':') THEN split_part({offset}, ':', {place + 1})"
        f" ELSE substring({offset}, {1 + 2 * place}, 2) END AS BIGINT), 0)"
        for place in range(3)
    ]
    hours, minutes, seconds = places
    total = f"({hours} * 3600 + {minutes} * 60 + {seconds})"
    inside = f"{minutes} < 60 AND {seconds} < 60 AND {total} <= {_FARTHEST}"
    return f"CASE WHEN {inside} THEN CASE WHEN {sign} = '-' THEN -{total} ELSE {total} END END"
