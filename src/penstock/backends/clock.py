"""Queries that read the clock, with the clock of a step in them."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime

from penstock.plan.rewording import clock_read
from penstock.plan.scalar import Scalar

_CLOCK_CALL = re.compile(
    r"(?i)\b(?:(?P<name>now|curdate)\s*\(\s*\)"
    r"|(?P<name2>current_timestamp|localtimestamp|current_date|current_time)\b(?:\s*\(\s*(?P<precision>\d*)\s*\))?)"
)


def clocked(at: datetime | None) -> Callable[[Scalar], str]:
    """The rendering of expressions when the clock stands at `at` (UTC); None leaves it to Spark."""
    if at is None:
        return lambda scalar: scalar.text
    literal = f"TIMESTAMP '{at:%Y-%m-%d %H:%M:%S.%f}+00:00'"

    return lambda scalar: clock_read(scalar, lambda name, digits: _clock_text(name, literal, digits))


def clocked_text(at: datetime | None) -> Callable[[str], str]:
    """The same for the text of a recomputed query."""
    if at is None:
        return lambda text: text

    literal = f"TIMESTAMP '{at:%Y-%m-%d %H:%M:%S.%f}+00:00'"

    def value(match: re.Match[str]) -> str:
        name = (match["name"] or match["name2"]).lower()
        precision = (match["precision"] or "6") if name == "current_time" else ""
        return _clock_text(name, literal, precision)

    return lambda text: _CLOCK_CALL.sub(value, text)


def _clock_text(name: str, literal: str, precision: str) -> str:
    """The clock's value, given as a literal, as one of the functions would give it."""
    if name in ("current_date", "curdate", "currentdate"):
        return f"CAST({literal} AS DATE)"
    if name == "unix_timestamp":
        return f"unix_timestamp({literal})"
    if name == "localtimestamp":
        return f"CAST({literal} AS TIMESTAMP_NTZ)"
    if name in ("current_time", "currenttime"):
        return f"CAST(to_time(date_format({literal}, 'HH:mm:ss.SSSSSS')) AS TIME({precision}))"
    return literal
