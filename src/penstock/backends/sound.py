"""Values of Arrow columns that Python, or Spark, cannot hold: text that is not UTF-8, a year 0 or 10000."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date

import pyarrow as pa
import pyarrow.compute as pc

_UNITS = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_FIRST, _BEYOND = (date(1, 1, 1) - date(1970, 1, 1)).days, (date(9999, 12, 31) - date(1970, 1, 1)).days + 1
_DAY = 86_400


def is_sound(column: pa.ChunkedArray) -> bool:
    """True if each value can be held: text is UTF-8, and no point in time is outside of the years 1 to 9999."""
    return _is_valid(column) and _in_range(column)


def _is_valid(column: pa.ChunkedArray) -> bool:
    try:
        column.validate(full=True)
    except pa.ArrowInvalid:
        return False
    return True


def _in_range(column: pa.ChunkedArray) -> bool:
    kind = column.type
    if pa.types.is_timestamp(kind):
        unit = _DAY * _UNITS[kind.unit]
        return _within(column.cast(pa.int64()), _FIRST * unit, _BEYOND * unit)
    if pa.types.is_date32(kind):
        return _within(column.cast(pa.int32()), _FIRST, _BEYOND)
    if pa.types.is_nested(kind):
        return all(_in_range(pa.chunked_array([part])) for part in _parts(column))
    return True


def _within(numbers: pa.ChunkedArray, first: int, beyond: int) -> bool:
    found = pc.min_max(numbers).as_py()
    return found["min"] is None or (first <= found["min"] and found["max"] < beyond)


def _parts(column: pa.ChunkedArray) -> Iterator[pa.Array]:
    """The values within nested ones."""
    for chunk in column.chunks:
        if pa.types.is_struct(chunk.type):
            yield from chunk.flatten()
        elif pa.types.is_map(chunk.type):
            yield from (chunk.keys, chunk.items)
        elif hasattr(chunk, "flatten"):
            yield chunk.flatten()
