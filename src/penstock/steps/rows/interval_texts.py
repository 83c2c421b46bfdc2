"""Intervals as text, as Spark writes them: `INTERVAL '1 02:03:04.5' DAY TO SECOND`, `INTERVAL '1-2' YEAR TO MONTH`."""

from __future__ import annotations

import re
from datetime import timedelta
from decimal import Decimal, InvalidOperation

_TEXT = re.compile(r"\s*INTERVAL\s+'([+-]?)([\d :.-]+)'\s+(\w+?)S?(?:\s+TO\s+(\w+?)S?)?\s*", re.IGNORECASE)
_IN_A_DAY = {"DAY": 86_400_000_000, "HOUR": 3_600_000_000, "MINUTE": 60_000_000, "SECOND": 1_000_000}
_IN_A_YEAR = {"YEAR": 12, "MONTH": 1}
_SIZES = {**_IN_A_YEAR, **_IN_A_DAY}


def day_time_text(value: timedelta) -> str:
    """An interval of days and seconds as text."""
    micros = value // timedelta(microseconds=1)
    seconds, fraction = divmod(abs(micros), 1_000_000)
    days, seconds = divmod(seconds, 86_400)
    below = f".{fraction:06}".rstrip("0") if fraction else ""
    clock = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}{below}"
    return f"INTERVAL '{'-' if micros < 0 else ''}{days} {clock}' DAY TO SECOND"


def parse_day_time(text: str) -> timedelta:
    """An interval of days and seconds; ValueError if the text is none."""
    return timedelta(microseconds=_parse(text, _IN_A_DAY))


def parse_months(text: str) -> int:
    """An interval of years and months, as a number of months; ValueError if the text is none."""
    return _parse(text, _IN_A_YEAR)


def _parse(text: str, sizes: dict[str, int]) -> int:
    parts = _TEXT.fullmatch(text)
    units = () if parts is None else _units(parts[3].upper(), (parts[4] or parts[3]).upper(), tuple(sizes))
    if parts is None or not units:
        raise ValueError(text)
    numbers = re.split(r"[ :-]", parts[2].strip())
    if len(numbers) != len(units):
        raise ValueError(text)
    try:
        total = sum(Decimal(number) * _SIZES[unit] for number, unit in zip(numbers, units, strict=True))
    except InvalidOperation:
        raise ValueError(text) from None
    if total != int(total):
        raise ValueError(text)
    return int(total) * (-1 if parts[1] == "-" else 1)


def _units(first: str, last: str, known: tuple[str, ...]) -> tuple[str, ...]:
    """The units from the first to the last; () if they are not in this order."""
    if first not in known or last not in known:
        return ()
    return known[known.index(first) : known.index(last) + 1]
