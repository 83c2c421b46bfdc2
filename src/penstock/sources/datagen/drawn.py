"""Numbers by chance from a seed, a name and a counter alone: any of them can be had again, in any order.

The counter goes through the finalizer of SplitMix64 (Steele, Lea and Flood, Fast Splittable Pseudorandom Number
Generators, OOPSLA 2014), which gives 64 bits that pass the usual tests of randomness.
"""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

Words = NDArray[np.uint64]

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_WORD = 1 << 64


def stream_of(seed: int, name: str) -> int:
    """The number that tells the draws of a name from those of others."""
    return int.from_bytes(hashlib.blake2b(f"{seed}\n{name}".encode(), digest_size=8).digest(), "little")


def drawn(stream: int, counters: Words) -> Words:
    """64 bits for each counter."""
    mixed = (counters + np.uint64(1)) * _GOLDEN + np.uint64(stream)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * _FIRST
    mixed = (mixed ^ (mixed >> np.uint64(27))) * _SECOND
    return mixed ^ (mixed >> np.uint64(31))


def shares(stream: int, counters: Words) -> NDArray[np.float64]:
    """A number from 0 up to, and without, 1 for each counter."""
    return (drawn(stream, counters) >> np.uint64(11)).astype(np.float64) / float(1 << 53)


def whole(stream: int, counters: Words, low: int, high: int) -> NDArray[Any]:
    """A whole number from `low` to `high` for each counter: 64 bits wide, or Python's where those are too few."""
    room = high - low + 1
    if room > _WORD or not -(1 << 63) <= low <= high < 1 << 63:
        wide = drawn(stream + 1 & _WORD - 1, counters)
        both = zip(drawn(stream, counters).tolist(), wide.tolist(), strict=True)
        return np.array([low + (first << 64 | second) % room for first, second in both], dtype=object)
    found = drawn(stream, counters)
    within = found if room == _WORD else found % np.uint64(room)
    return (within + np.uint64(low % _WORD)).view(np.int64)
