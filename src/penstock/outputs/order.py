"""The order in which rows are shown to people: that of their values, so that two runs show the same.

A relation has no order of its own; what an engine happens to give changes from run to run.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import Any

Row = tuple[Any, ...]


def ordered(rows: Iterable[Row]) -> list[Row]:
    """The rows by their values, from the first column on: NULL first, NaN last."""
    return sorted(rows, key=_key)


def ordered_change(rows: Iterable[tuple[int, Row]]) -> list[tuple[int, Row]]:
    """The `(weight, row)` pairs of a change: what is taken back, then what comes, each by their values."""
    return sorted(rows, key=lambda entry: (entry[0] > 0, _key(entry[1])))


def ordered_places(rows: Sequence[tuple[int, Row]]) -> list[int]:
    """The places of the pairs in that order."""
    return sorted(range(len(rows)), key=lambda place: (rows[place][0] > 0, _key(rows[place][1])))


def _key(row: Row) -> tuple[tuple[int, str, Any], ...]:
    return tuple(_comparable(value) for value in row)


def _comparable(value: Any) -> tuple[int, str, Any]:
    """The place of a value among those of its column, which in a VARIANT may be of types that do not compare."""
    if value is None:
        return 0, "", 0
    if isinstance(value, float | Decimal) and math.isnan(value):
        return 2, "", 0
    if isinstance(value, bool | int | float | Decimal):
        return 1, "number", value
    if isinstance(value, list | dict | tuple):
        return 1, "nested", repr(value)
    return 1, type(value).__name__, value
