"""The values of columns by their rules, many rows at a time, as Arrow arrays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, assert_never

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from penstock.backends.columns import arrow_type
from penstock.sources.datagen.drawn import Words, drawn, shares, stream_of, whole
from penstock.sources.datagen.rules import (
    Fraction,
    Many,
    Octets,
    Pairs,
    Past,
    Ruled,
    Sequence,
    Text,
    Together,
    Uniform,
)

_DIGITS = np.frombuffer(b"0123456789abcdef", np.uint8)
_IN_A_WORD = 8
_BLANK = ord(" ")


@dataclass(frozen=True, slots=True)
class Rows:
    """The rows, or parts of rows, to make: a number for each, and the time at which its row is due (microseconds)."""

    numbers: Words
    due: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.numbers)

    def parts(self, stream: int, count: int) -> Rows:
        """So many parts of each."""
        return Rows(_spread(stream, self.numbers, count).ravel(), np.repeat(self.due, count))


def _spread(stream: int, numbers: Words, count: int) -> Words:
    """So many numbers for each, in a row of their own."""
    return drawn(stream, numbers)[:, None] + np.arange(count, dtype=np.uint64)[None, :]


@dataclass(frozen=True, slots=True)
class Maker:
    """Makes values from a seed."""

    seed: int

    def values(self, ruled: Ruled, rows: Rows) -> Any:
        """The values of a column, or of a part of one."""
        found = self._values(ruled, rows)
        if not ruled.null_rate:
            return found
        missing = shares(self._stream(ruled, "null"), rows.numbers) < ruled.null_rate
        return found.take(pa.array(np.arange(len(rows)), mask=missing))

    def _values(self, ruled: Ruled, rows: Rows) -> Any:
        kind, stream, rule = arrow_type(ruled.type), self._stream(ruled), ruled.rule
        match rule:
            case Uniform():
                steps = whole(stream, rows.numbers, -(-rule.low // rule.step), rule.high // rule.step)
                return _stored(steps * rule.step, kind)
            case Fraction():
                share = shares(stream, rows.numbers)
                return pa.array(rule.low * (1 - share) + rule.high * share).cast(kind)
            case Past():
                past = whole(stream, rows.numbers, 0, rule.most)
                return _stored((rows.due - past) // rule.unit, kind)
            case Text():
                return self._text(ruled, rule, rows)
            case Octets():
                return _cut(_bytes(stream, rows, rule.length), self._lengths(ruled, rule, rows), kind)
            case Sequence():
                return _counted(rule, rows, kind)
            case Many():
                items = self.values(rule.element, rows.parts(stream, rule.length))
                offsets = pa.array(np.arange(len(rows) + 1) * rule.length, pa.int32())
                return pa.ListArray.from_arrays(offsets, items).cast(kind)
            case Pairs():
                return self._pairs(rule, rows.parts(stream, rule.length), len(rows), kind)
            case Together():
                return pa.StructArray.from_arrays([self.values(part, rows) for _, part in rule.fields], fields=[*kind])
            case _:
                assert_never(rule)

    def _stream(self, ruled: Ruled, what: str = "") -> int:
        return stream_of(self.seed, f"{ruled.path}\n{what}")

    def _text(self, ruled: Ruled, rule: Text, rows: Rows) -> Any:
        digits = _hexadecimal(_bytes(self._stream(ruled), rows, -(-rule.length // 2)))[:, : rule.length]
        lengths = self._lengths(ruled, rule, rows)
        if not rule.padded:
            return _cut(digits, lengths, pa.string())
        wide = np.full((len(rows), rule.padded), _BLANK, np.uint8)
        wide[:, : rule.length] = np.where(np.arange(rule.length) < lengths[:, None], digits, _BLANK)
        return _cut(wide, np.full(len(rows), rule.padded), pa.string())

    def _lengths(self, ruled: Ruled, rule: Text | Octets, rows: Rows) -> NDArray[Any]:
        """The length of each; a varying one is from 1 on."""
        if not rule.varying or not rule.length:
            return np.full(len(rows), rule.length)
        return whole(self._stream(ruled, "length"), rows.numbers, 1, rule.length)

    def _pairs(self, rule: Pairs, parts: Rows, count: int, kind: Any) -> Any:
        keys, values = (self.values(part, parts).to_pylist() for part in (rule.key, rule.value))
        cuts = [slice(at * rule.length, (at + 1) * rule.length) for at in range(count)]
        return pa.array([_distinct(keys[cut], values[cut]) for cut in cuts], kind)


def _distinct(keys: list[Any], values: list[Any]) -> list[tuple[Any, Any]]:
    """The entries of a MAP; keys that cannot be told apart by a dict, as arrays, are compared one by one."""
    found: list[tuple[Any, Any]] = []
    for key, value in zip(keys, values, strict=True):
        if all(key != known for known, _ in found):
            found.append((key, value))
    return found


def width_of(ruled: Ruled) -> int:
    """About how many bytes a value takes."""
    match ruled.rule:
        case Text() | Octets():
            return max(ruled.rule.length, 1)
        case Many():
            return width_of(ruled.rule.element) * max(ruled.rule.length, 1)
        case Pairs():
            return (width_of(ruled.rule.key) + width_of(ruled.rule.value)) * max(ruled.rule.length, 1)
        case Together():
            return sum(width_of(part) for _, part in ruled.rule.fields)
        case _:
            return _IN_A_WORD


def _stored(values: NDArray[Any], kind: Any) -> Any:
    """Whole numbers as values of a type that stores them so."""
    if pa.types.is_decimal(kind):
        return _decimals(values, kind)
    if pa.types.is_date(kind):
        return pa.array(values.astype(np.int32)).cast(kind)
    return pa.array(values).cast(kind)


def _decimals(values: NDArray[Any], kind: Any) -> Any:
    """Numbers without their points as DECIMAL: 16 bytes each, the lowest first."""
    if values.dtype == object:
        data = b"".join(value.to_bytes(16, "little", signed=True) for value in values)
    else:
        data = np.stack([values, values >> 63], axis=1).astype("<i8").tobytes()
    return pa.Array.from_buffers(kind, len(values), [None, pa.py_buffer(data)])


def _counted(rule: Sequence, rows: Rows, kind: Any) -> Any:
    """The numbers of the rows from the sequence's start on."""
    numbers = rows.numbers.view(np.int64) + rule.start
    if pa.types.is_decimal(kind):
        scaled = [int(number) * 10**rule.scale for number in numbers]
        return _decimals(np.array(scaled, dtype=object), kind)
    return pa.array(numbers).cast(kind)


def _bytes(stream: int, rows: Rows, length: int) -> NDArray[np.uint8]:
    """So many bytes for each row."""
    words = drawn(stream, _spread(stream, rows.numbers, -(-length // _IN_A_WORD)))
    found = np.ascontiguousarray(words.astype("<u8")).view(np.uint8)
    return found.reshape(len(rows), -1)[:, :length]


def _hexadecimal(data: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Two digits for each byte."""
    return np.stack([_DIGITS[data >> 4], _DIGITS[data & 15]], axis=2).reshape(len(data), -1)


def _cut(data: NDArray[np.uint8], lengths: NDArray[Any], kind: Any) -> Any:
    """The first bytes of each row, as many as its length says."""
    kept = data[np.arange(data.shape[1]) < lengths[:, None]]
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype("<i4")
    return pa.Array.from_buffers(kind, len(data), [None, pa.py_buffer(offsets.tobytes()), pa.py_buffer(kept.tobytes())])
