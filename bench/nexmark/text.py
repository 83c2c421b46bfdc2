"""Random text by the million: whole Arrow columns at once, never a Python string a row."""

from __future__ import annotations

from functools import cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

_SHORTEST = 3
_RARE = 13  # one character in so many is the special one
_CHANNELS, _HOT_CHANNELS = 10_000, ("Google", "Facebook", "Baidu", "Apple")
_SPREAD = 0.2
_INTEGER_BITS = 32


def words(random: np.random.Generator, count: int, longest: int, special: str = " ") -> pa.Array:
    """Texts of 3 up to, not including, `longest` small letters; inside, one in 13 is the special character."""
    sizes = random.integers(_SHORTEST, longest, count)
    ends = np.cumsum(sizes)
    letters = _letters(random, int(ends[-1]) if count else 0)
    rare = random.integers(0, _RARE, len(letters)) == 0
    rare[ends - 1] = False
    rare[ends - sizes] = False
    letters[rare] = ord(special)
    return _strings(letters, ends)


def padding(random: np.random.Generator, used: np.ndarray, wanted: int) -> pa.Array:
    """What fills rows that use so many bytes up to the wanted size on average, give or take a fifth."""
    room = np.maximum(wanted - used, 0)
    spread = np.rint(room * _SPREAD).astype(np.int64)
    sizes = room - spread + (random.random(len(room)) * 2 * spread).astype(np.int64)
    ends = np.cumsum(sizes)
    return _strings(_letters(random, int(ends[-1]) if len(ends) else 0), ends)


def digits(random: np.random.Generator, count: int, width: int) -> pa.Array:
    """Numbers of so many digits, zeros in front."""
    found = random.integers(ord("0"), ord("9") + 1, count * width, dtype=np.uint8)
    return _strings(found, np.arange(1, count + 1) * width)


def chosen(random: np.random.Generator, count: int, choices: list[str]) -> pa.Array:
    """One of the choices for each row."""
    return pa.array(choices).take(pa.array(random.integers(0, len(choices), count)))


def joined(between: str, *parts: pa.Array | str) -> pa.Array:
    """The parts of each row as one text."""
    return pc.binary_join_element_wise(*parts, between)


def lengths(texts: pa.Array) -> np.ndarray:
    """How many characters each text has."""
    found: np.ndarray = pc.utf8_length(texts).to_numpy().astype(np.int64)
    return found


def channels(random: np.random.Generator, count: int) -> tuple[pa.Array, pa.Array]:
    """The channel and the URL of each bid: half of them one of four hot ones, the others one of ten thousand."""
    names, addresses = _channels()
    hot = random.integers(0, 2, count) > 0
    chosen_hot = random.integers(0, len(_HOT_CHANNELS), count) + _CHANNELS
    which = pa.array(np.where(hot, chosen_hot, random.integers(0, _CHANNELS, count)))
    return names.take(which), addresses.take(which)


@cache
def _channels() -> tuple[pa.Array, pa.Array]:
    """All channels and their URLs, the hot ones last; nine in ten of the others carry their id, bits reversed."""
    random = np.random.default_rng(0)
    count = _CHANNELS + len(_HOT_CHANNELS)
    directories = [words(random, count, 5, "_") for _ in range(3)]
    plain = joined("/", "https://www.nexmark.com", *directories, "item.htm?query=1").to_pylist()
    marked = random.integers(0, 10, count) > 0
    addresses = [
        f"{address}&channel_id={_reversed(at)}" if at < _CHANNELS and marked[at] else address
        for at, address in enumerate(plain)
    ]
    return pa.array([*(f"channel-{at}" for at in range(_CHANNELS)), *_HOT_CHANNELS]), pa.array(addresses)


def _reversed(number: int) -> int:
    """The absolute value of the 32-bit integer with these bits in reverse."""
    bits = int(f"{number:0{_INTEGER_BITS}b}"[::-1], 2)
    return abs(bits - (1 << _INTEGER_BITS) if bits >> (_INTEGER_BITS - 1) else bits)


def _letters(random: np.random.Generator, count: int) -> np.ndarray:
    return random.integers(ord("a"), ord("z") + 1, count, dtype=np.uint8)


def _strings(characters: np.ndarray, ends: np.ndarray) -> pa.Array:
    offsets = np.concatenate([[0], ends]).astype(np.int32)
    return pa.StringArray.from_buffers(len(ends), pa.py_buffer(offsets), pa.py_buffer(characters))
