"""One file of a folder, as a stream."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from penstock.sources.files.identity import (
    UNKNOWN,
    Head,
    State,
    Tail,
    birth_of,
    state_from,
    tail_of,
)
from penstock.sources.files.unpacked import Unpacked, compression_of
from penstock.sources.position import Position, position_of


@dataclass(eq=False)
class File:
    """A file, how far it has been read, and what is known of its writer.

    `number` is its name in manifests, whatever it is called: of a manifest that has none it is the path. `order` is its
    time of modification when it was first seen; `seen` and `changed` are the looks at the folder in which it was found,
    and found changed, `listed` the time of the last one in which it was there; `whole` is said of a format that reads a
    file only at a time, as Parquet. `broken` are facts of a content that cannot be read on, from a manifest.
    """

    path: Path
    state: State
    seen: int
    whole: bool = False
    number: int | str = 0
    at: Position = field(default_factory=Position)
    head: Head = field(default_factory=Head)
    order: int = 0
    changed: int = 0
    complete: bool = False
    gone: bool = False
    listed: int = 0
    born: int | None = None
    tail: Tail | None = None
    broken: Mapping[str, Any] | None = None
    is_noted: bool = True  # a manifest has it under this name
    _rested: tuple[State, bool] | None = None
    _broken: State | None = None
    _unpacked: Unpacked | None = None

    def __post_init__(self) -> None:
        """The order and the place in time of a file that is new."""
        self.order = self.order or self.state.modified
        self.changed = self.changed or self.seen
        self._open()

    def called(self, path: Path) -> None:
        """Have the file under another name."""
        self.path, self.is_noted = path, False
        self._open()

    def _open(self) -> None:
        path = self.path
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
        self.head = self.head.grown(self.path, self._covered)

    @property
    def _covered(self) -> int:
        """The bytes on the disk that have been read."""
        return self.state.size if self.is_opaque else self.at.offset

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

    def is_continued_at(self, path: Path, state: State) -> bool:
        """True if a file in that state begins as this one does, and has at least what was read of it."""
        if self.whole and self.head.length and self.state is not UNKNOWN:
            size = state.size == self.state.size
        else:
            size = state.size >= (self.state.size if self.is_opaque else self.at.offset)
        return size and _begins(self.head, path)

    def is_copied_to(self, path: Path, state: State) -> bool:
        """True if a file has also the end of what was read, as a copy has it."""
        if self.tail is None or not self.is_continued_at(path, state):
            return False
        try:
            return self.tail.is_in(path)
        except OSError:
            return False

    def has_inode_of(self, path: Path, state: State) -> bool:
        """True if a file under another name has its inode, which no other file has got since."""
        if state.inode != self.state.inode or not state.inode:
            return False
        born = birth_of(path)
        if self.born is not None and born is not None:
            return self.born == born
        return state.modified == self.state.modified or state.size > self.state.size

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
        self._remember_disk()
        known: dict[str, Any] = {**self.state.to_json(), "listed": self.listed}
        known |= {} if self.born is None else {"born": self.born}
        known |= {} if self.tail is None else {"tail": {"end": self.tail.end, "digest": self.tail.digest}}
        known |= {"gone": True} if self.gone else {}
        head = {"bytes": self.head.length, "digest": self.head.digest}
        return {"file": self.number, "path": str(self.path), "of": known, "head": head}

    def _remember_disk(self) -> None:
        """Take note of what recognises it once it is called otherwise."""
        if self.gone:
            return
        self.born = birth_of(self.path)
        if self.tail is None or self.tail.end != self._covered:
            try:
                self.tail = tail_of(self.path, self._covered)
            except OSError:  # it has just gone, which the next look finds
                self.tail = None


def recalled(facts: Mapping[str, Any], *, whole: bool) -> File:
    """The file that a manifest tells of, as it was then; whether it is there is not known."""
    known, head = facts.get("of", {}), facts["head"]
    tail = known.get("tail")
    return File(
        Path(facts["path"]),
        state_from(known) if known else UNKNOWN,
        1,
        whole,
        facts.get("file", facts["path"]),
        position_of(facts["to"]),
        Head(head["bytes"], head["digest"]),
        gone=bool(known.get("gone")),
        listed=known.get("listed", 0),
        born=known.get("born"),
        tail=None if tail is None else Tail(tail["end"], tail["digest"]),
        is_noted=bool(known),
    )


def _begins(head: Head, path: Path) -> bool:
    try:
        return head.begins(path)
    except OSError:  # it may not be read, which reading says, or has just gone, which the next look finds
        return True
