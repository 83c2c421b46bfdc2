"""One file of a folder, as a stream."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from penstock.sources.files.identity import Head, Likeness, State
from penstock.sources.files.unpacked import Unpacked, compression_of
from penstock.sources.position import Position


@dataclass(eq=False)
class File:
    """A file, how far it has been read, and what is known of its writer.

    `order` is its time of modification when it was first seen; `seen` and `changed` are the looks at the folder in
    which it was found, and found changed; `whole` is said of a format that reads a file only at a time, as Parquet.
    """

    path: Path
    state: State
    seen: int
    whole: bool = False
    at: Position = field(default_factory=Position)
    head: Head = field(default_factory=Head)
    order: int = 0
    changed: int = 0
    complete: bool = False
    gone: bool = False
    _rested: tuple[State, bool] | None = None
    _broken: State | None = None
    _unpacked: Unpacked | None = None

    def __post_init__(self) -> None:
        """The order and the place in time of a file that is new."""
        self.order = self.order or self.state.modified
        self.changed = self.changed or self.seen
        self.called(self.path)

    def called(self, path: Path) -> None:
        """Have the file under a name."""
        self.path = path
        packed = None if self.whole else compression_of(path)
        self._unpacked = None if packed is None else Unpacked(path, packed)

    @property
    def name(self) -> str:
        """The file as a row's place names it."""
        return str(self.path)

    def read(self, offset: int, size: int) -> bytes:
        """Some of its bytes, unpacked."""
        if self._unpacked is not None:
            return self._unpacked.read(offset, size, complete=self.complete)
        with self.path.open("rb") as file:
            file.seek(offset)
            return file.read(size)

    def move(self, to: Position) -> None:
        """Go on from a position: what is before it has been read."""
        self.at = to
        self._rested = self._broken = None
        covered = self.state.size if self.is_opaque else to.offset
        self.head = self.head.grown(self.path, covered)

    def rest(self) -> None:
        """There is no further record in this state."""
        self._rested = (self.state, self.complete)
        if self._unpacked is not None:
            self._unpacked.close()

    def break_off(self) -> None:
        """It cannot be read on in this state, whoever writes it."""
        self.rest()
        self._broken = self.state

    @property
    def is_opaque(self) -> bool:
        """True if its offsets are not those of the bytes on the disk."""
        return self.whole or self._unpacked is not None

    @property
    def is_unread(self) -> bool:
        """True if there may be a record that has not been read."""
        if self.gone or self._broken == self.state or self._rested == (self.state, self.complete):
            return False
        return self.is_opaque or self.state.size > self.at.offset

    @property
    def remaining(self) -> int:
        """Bytes that have not been read, and may be, as far as one can tell."""
        if self.gone or self._broken == self.state:
            return 0
        if self.is_opaque:
            return self.state.size if self.is_unread else 0
        return max(0, self.state.size - self.at.offset)

    def is_followed_by(self, state: State, likeness: Likeness) -> bool:
        """True if a file in that state is this one, unchanged or longer."""
        if likeness is not Likeness.SAME:
            return False
        if self.whole and self.head.length:
            return state.size == self.state.size
        return self.is_opaque or state.size >= self.at.offset

    def content_facts(self) -> dict[str, Any]:
        """Its size, and the digest of its beginning; none if it cannot be opened."""
        try:
            head = Head().grown(self.path, self.state.size)
        except OSError:
            return {}
        return {"size": self.state.size, "bytes": head.length, "digest": head.digest}

    def has(self, content: Mapping[str, Any]) -> bool:
        """True if its size and its beginning are those."""
        return bool(content) and self.content_facts() == content

    def facts(self) -> dict[str, Any]:
        """The facts that recognise it."""
        return {"path": str(self.path), "head": {"bytes": self.head.length, "digest": self.head.digest}}
