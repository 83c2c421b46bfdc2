"""Rows judged by LATENESS, as a backend knows it: by which columns, how far these may be, and the words for the reason.

A row is set aside if a value is infinite, or above `latest`, or below `line`; the first reason that holds is its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from penstock.catalog.types import Type

LATE = "Late value"
FUTURE = "Future value"
INFINITE = "Infinite value"


@dataclass(frozen=True)
class JudgedColumn:
    """A column by which rows are judged: its place in the row, its waterline, and the latest time that is possible.

    Both are None where there are none.
    """

    name: str
    type: Type
    place: int
    line: Any
    latest: Any


Judging = tuple[JudgedColumn, ...]
