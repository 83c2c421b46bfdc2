"""The messages of pgoutput, version 1: transactions, the columns of relations, rows that come, change and go.

A value is text, None for NULL, or UNCHANGED for a large one that an UPDATE has left alone and that is not sent.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from enum import Enum, auto
from typing import NamedTuple


class Unchanged(Enum):
    """A value that was not sent."""

    VALUE = auto()


Value = bytes | None | Unchanged
Values = tuple[Value, ...]


_EPOCH = 946_684_800.0  # 2000-01-01, from which PostgreSQL counts, in seconds since 1970


class TypeOf(NamedTuple):
    """The type of a column: its number, and what stands behind it in parentheses, as PostgreSQL keeps that."""

    number: int
    modifier: int = -1


@dataclass(frozen=True, slots=True)
class RelationColumn:
    """A column of a relation, and whether it is in the replica identity."""

    name: str
    type: TypeOf
    in_key: bool


@dataclass(frozen=True, slots=True)
class Relation:
    """The columns of a relation."""

    number: int
    columns: tuple[RelationColumn, ...]


@dataclass(frozen=True, slots=True)
class RowChange:
    """A row that comes (`new` alone), goes (`old` alone), or changes; `whole` tells an old row from its key alone."""

    relation: int
    old: Values | None
    new: Values | None
    whole: bool = False


@dataclass(frozen=True, slots=True)
class Truncated:
    """Relations that are empty now."""

    relations: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Committed:
    """The end of a transaction: the position behind it, and when it was, in seconds since 1970."""

    end: int
    at: float = 0.0


class Reading:
    """Reads one message from the left."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 1

    def number(self, form: str) -> int:
        """A number of a fixed width."""
        (found,) = struct.unpack_from(f">{form}", self._data, self._at)
        self._at += struct.calcsize(form)
        return int(found)

    def text(self) -> str:
        """A text that ends with a zero."""
        end = self._data.index(b"\0", self._at)
        found = self._data[self._at : end].decode()
        self._at = end + 1
        return found

    def letter(self) -> str:
        """One letter."""
        self._at += 1
        return chr(self._data[self._at - 1])

    def values(self) -> Values:
        """The values of a row."""
        return tuple(self._value() for _ in range(self.number("h")))

    def _value(self) -> Value:
        kind = self.letter()
        if kind in "nu":
            return None if kind == "n" else Unchanged.VALUE
        length = self.number("i")
        self._at += length
        return self._data[self._at - length : self._at]


Message = Relation | RowChange | Truncated | Committed


def message_of(data: bytes) -> Message | None:
    """A message; None for those that say nothing about rows: BEGIN, types, origins."""
    reading = Reading(data)
    match chr(data[0]):
        case "R":
            return _relation(reading)
        case "I":
            number, _ = reading.number("i"), reading.letter()
            return RowChange(number, None, reading.values())
        case "U":
            return _update(reading)
        case "D":
            number, kind = reading.number("i"), reading.letter()
            return RowChange(number, reading.values(), None, whole=kind == "O")
        case "T":
            count, _ = reading.number("i"), reading.number("b")
            return Truncated(tuple(reading.number("i") for _ in range(count)))
        case "C":
            reading.number("b")
            reading.number("q")
            return Committed(reading.number("q"), _EPOCH + reading.number("q") / 1e6)
        case _:
            return None


def _relation(reading: Reading) -> Relation:
    number = reading.number("i")
    reading.text()
    reading.text()
    reading.letter()
    columns = []
    for _ in range(reading.number("h")):
        flags, name = reading.number("b"), reading.text()
        kind = TypeOf(reading.number("I"), reading.number("i"))
        columns.append(RelationColumn(name, kind, bool(flags & 1)))
    return Relation(number, tuple(columns))


def _update(reading: Reading) -> RowChange:
    number, kind = reading.number("i"), reading.letter()
    old = None
    if kind in "KO":
        old = reading.values()
        reading.letter()
    return RowChange(number, old, reading.values(), whole=kind == "O")


def lsn_text(position: int) -> str:
    """A position as PostgreSQL writes it."""
    return f"{position >> 32:X}/{position & 0xFFFFFFFF:X}"


def lsn_number(text: str) -> int:
    """A position as a number."""
    high, _, low = text.partition("/")
    return (int(high, 16) << 32) + int(low, 16)
