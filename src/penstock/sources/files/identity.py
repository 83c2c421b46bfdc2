"""The identity of a file: a digest of what was read of its first 64 KiB, beside its path.

The inode says only where a file has gone that was renamed, since the number is used again.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from enum import Enum, auto
from hashlib import blake2b
from pathlib import Path

HEAD = 64 << 10
_START = 1 << 10


@dataclass(frozen=True, slots=True)
class State:
    """The facts that the file system tells of a file, without looking into it."""

    modified: int
    changed: int
    size: int
    inode: tuple[int, int]


def state_of(status: os.stat_result) -> State:
    """The state of a file that was asked for."""
    return State(status.st_mtime_ns, status.st_ctime_ns, status.st_size, (status.st_dev, status.st_ino))


class Likeness(Enum):
    """The comparison of a file with what was read of it."""

    SAME = auto()
    CUT_OFF = auto()  # it begins as it did, and ends before what was read
    OTHER = auto()


@dataclass(frozen=True, slots=True)
class Head:
    """The beginning of a file as it was read: how many bytes, their digest, and the very first of them."""

    length: int = 0
    digest: str = ""
    start: bytes = b""

    def grown(self, path: Path, covered: int) -> Head:
        """The head when so many bytes have been read; OSError if the file cannot be read."""
        covered = min(covered, HEAD)
        if covered <= self.length and (self.start or not self.length):
            return self
        with path.open("rb") as file:
            text = file.read(max(covered, self.length))
        if len(text) < self.length or _digest(text[: self.length]) != self.digest:
            return self  # it has just been replaced, which the next look finds
        return Head(len(text), _digest(text), text[:_START])

    def likeness(self, path: Path) -> Likeness:
        """The comparison of the file at a path; OSError if it cannot be read."""
        if not self.length:
            return Likeness.SAME
        with path.open("rb") as file:
            text = file.read(self.length)
        if len(text) == self.length:
            return Likeness.SAME if _digest(text) == self.digest else Likeness.OTHER
        known = min(len(text), len(self.start))
        return Likeness.CUT_OFF if text[:known] == self.start[:known] else Likeness.OTHER


def _digest(text: bytes) -> str:
    return blake2b(text, digest_size=8).hexdigest() if text else ""
