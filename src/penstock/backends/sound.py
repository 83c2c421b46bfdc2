"""Values of Arrow columns that Python, or Spark, cannot hold: text that is not UTF-8, a year 0 or 10000.

And MAPs in which a key stands twice: Spark makes none, though it takes one for a MAP.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from datetime import date
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from penstock.backends.rows import canonical

_UNITS = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_FIRST, _BEYOND = (date(1, 1, 1) - date(1970, 1, 1)).days, (date(9999, 12, 31) - date(1970, 1, 1)).days + 1
_DAY = 86_400
_HIGH_BITS = 0x8080808080808080


def is_sound(column: pa.ChunkedArray) -> bool:
    """True if each value can be held.

    Text is UTF-8, no point in time is outside of the years 1 to 9999, and no key stands in a MAP twice.
    """
    return _is_valid(column) and _in_range(column) and _keys_apart(column)


def _is_valid(column: pa.ChunkedArray) -> bool:
    if pa.types.is_string(column.type) and all(map(_is_ascii, column.chunks)):
        return True
    try:
        column.validate(full=True)
    except pa.ArrowInvalid:
        return False
    return True


def _is_ascii(texts: pa.StringArray) -> bool:
    """True if the texts are ASCII, and so UTF-8: eight bytes are read at once, where a decoder reads each."""
    import numpy as np  # noqa: PLC0415 - 100 ms that `check` need not wait

    _, offsets, data = texts.buffers()
    if offsets is None or data is None:
        return False
    ends = np.frombuffer(offsets, np.int32)[texts.offset : texts.offset + len(texts) + 1]
    if not len(ends) or ends[0] < 0 or ends[-1] > data.size or (ends[1:] < ends[:-1]).any():
        return False
    letters = np.frombuffer(data, np.uint8)[ends[0] : ends[-1]]
    whole = len(letters) // 8 * 8
    return not (np.bitwise_or.reduce(letters[:whole].view(np.uint64)) & _HIGH_BITS or (letters[whole:] & 0x80).any())


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


def _keys_apart(column: pa.ChunkedArray) -> bool:
    """True if no MAP has a key twice, at any depth; both zeros are one key, and all NaNs are."""
    kind = column.type
    if not pa.types.is_nested(kind):
        return True
    if pa.types.is_map(kind) and not all(map(_are_apart, column.chunks)):
        return False
    return all(_keys_apart(pa.chunked_array([part])) for part in _parts(column))


def _are_apart(maps: pa.MapArray) -> bool:
    """The same of one piece, but for MAPs within its MAPs."""
    import numpy as np  # noqa: PLC0415 - 100 ms that `check` need not wait

    keys = maps.keys.slice(*_range(maps))
    if keys.null_count:
        return False
    if pa.types.is_nested(keys.type):
        numbers: dict[Any, int] = {}
        keys = pa.array([numbers.setdefault(canonical(key), len(numbers)) for key in keys.to_pylist()], pa.int64())
    elif pa.types.is_floating(keys.type):
        keys = pc.if_else(pc.is_nan(keys), pa.scalar(math.nan, keys.type), pc.add(keys, pa.scalar(0.0, keys.type)))
    rows = pa.array(np.repeat(np.arange(len(maps)), np.diff(np.asarray(maps.offsets))))
    return int(pa.table([rows, keys], ["row", "key"]).group_by(["row", "key"]).aggregate([]).num_rows) == len(keys)


def _range(maps: pa.MapArray) -> tuple[int, int]:
    """Where the entries of these MAPs begin among those of the whole array, and how many they are."""
    first, beyond = maps.offsets[0].as_py(), maps.offsets[-1].as_py()
    return first, beyond - first


def _parts(column: pa.ChunkedArray) -> Iterator[pa.Array]:
    """The values within nested ones."""
    for chunk in column.chunks:
        if pa.types.is_struct(chunk.type):
            yield from chunk.flatten()
        elif pa.types.is_map(chunk.type):
            yield from (part.slice(*_range(chunk)) for part in (chunk.keys, chunk.items))
        elif hasattr(chunk, "flatten"):
            yield chunk.flatten()
