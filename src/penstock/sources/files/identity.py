"""The identity of a file: its path and a digest of what was read of its first 64 KiB; under another name its inode.

An inode's number is used again once its file is deleted, so the time of birth belongs to it where the file system keeps
one. Where files are copied instead of renamed, the beginning and the end of what was read have to agree.
"""

from __future__ import annotations

import ctypes
import os
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import Any

HEAD = TAIL = 64 << 10


@dataclass(frozen=True, slots=True)
class State:
    """The facts that the file system tells of a file, without looking into it; an inode of 0 is none."""

    modified: int
    changed: int
    size: int
    inode: int

    def to_json(self) -> dict[str, int]:
        """As a manifest has it."""
        return {"modified": self.modified, "changed": self.changed, "size": self.size, "inode": self.inode}


UNKNOWN = State(0, 0, 0, 0)  # of a file whose manifest tells nothing else than its beginning


def state_of(status: os.stat_result) -> State:
    """The state of a file, from what the file system answers."""
    return State(status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino)


def state_from(facts: Mapping[str, Any]) -> State:
    """The state that a manifest has."""
    return State(facts["modified"], facts["changed"], facts["size"], facts["inode"])


def digest(text: bytes) -> str:
    """A digest of some bytes; of none it is empty."""
    return blake2b(text, digest_size=8).hexdigest() if text else ""


@dataclass(frozen=True, slots=True)
class Head:
    """The beginning of a file as it was read: how many bytes, and their digest."""

    length: int = 0
    digest: str = ""

    def grown(self, path: Path, covered: int) -> Head:
        """The head when so many bytes have been read; OSError if the file cannot be read."""
        covered = min(covered, HEAD)
        if covered <= self.length:
            return self
        with path.open("rb") as file:
            text = file.read(covered)
        if len(text) < self.length or digest(text[: self.length]) != self.digest:
            return self  # it has just been replaced, which the next look finds
        return Head(len(text), digest(text))

    def begins(self, path: Path) -> bool:
        """True if the file at a path begins so; OSError if it cannot be read."""
        if not self.length:
            return True
        with path.open("rb") as file:
            return digest(file.read(self.length)) == self.digest


@dataclass(frozen=True, slots=True)
class Tail:
    """The last bytes before a place in a file: where they end, and their digest."""

    end: int
    digest: str

    def is_in(self, path: Path) -> bool:
        """True if the file at a path has them there; OSError if it cannot be read."""
        return tail_of(path, self.end) == self


def tail_of(path: Path, end: int) -> Tail:
    """The last bytes before a place in a file; OSError if it cannot be read."""
    start = max(0, end - TAIL)
    with path.open("rb") as file:
        file.seek(start)
        return Tail(end, digest(file.read(end - start)))


_AT_FDCWD, _STATX_BTIME, _MASK, _BORN, _SIZE = -100, 0x800, 0, 80, 256


@cache
def _statx() -> Any:
    """The C library's call, as Python's `os.stat` does not tell the time of birth on Linux; None if there is none."""
    try:
        return ctypes.CDLL(None).statx
    except (AttributeError, OSError):
        return None


def birth_of(path: Path) -> int | None:
    """The time when a file was made, in nanoseconds; None where the system does not tell."""
    if _statx() is None:
        try:
            seconds = getattr(path.stat(), "st_birthtime", None)
        except OSError:
            return None
        return None if seconds is None else int(seconds * 1e9)
    answer = ctypes.create_string_buffer(_SIZE)
    if _statx()(_AT_FDCWD, os.fsencode(path), 0, _STATX_BTIME, answer) != 0:
        return None
    if not struct.unpack_from("I", answer, _MASK)[0] & _STATX_BTIME:
        return None
    seconds, nanoseconds = struct.unpack_from("qI", answer, _BORN)
    return int(seconds) * 10**9 + int(nanoseconds)
