"""The new names of files: where a file is that does not stand under its name any more.

It is the one that has its inode. Where files are copied, or there are no inodes, it is one that begins as it does, ends
what was read as it does, and is not newer than the last look at which the file stood under its old name: so a file that
is written anew with the same content is another one. A log that is copied and emptied (copytruncate) has a copy that is
newer than that look, which is called much the same, and is not newer than what stands under the old name now.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from penstock.sources.files.file import File
from penstock.sources.files.identity import UNKNOWN, State, state_of
from penstock.sources.files.listing import Listing

_SEPARATORS = "._-"


@dataclass
class Renaming:
    """One look at a folder: the files that were known by their paths, and the states of those that are there."""

    listing: Listing
    known: Mapping[Path, File]
    present: dict[Path, State]
    _leaving: Collection[Path] = field(default=())

    def moved(self) -> dict[Path, File]:
        """The files that stand under other names now, by these; their states are among the present ones."""
        leaving = [file for file in self.known.values() if self._has_left(file)]
        self._leaving = {file.path for file in leaving}
        moved: dict[Path, File] = {}
        for file in leaving:
            path = next((path for path in self._names(file) if path not in moved), None)
            if path is not None:
                moved[path] = file
        return moved

    @cached_property
    def _by_inode(self) -> Mapping[int, list[Path]]:
        found = defaultdict(list)
        for path, state in self.present.items():
            found[state.inode].append(path)
        return found

    def _has_left(self, file: File) -> bool:
        """True if what stands under its name is not the file any more, be it renamed, or copied and emptied."""
        state = self.present.get(file.path)
        if state is None:
            return bool(file.head.length)
        if state == file.state or not file.head.length:
            return False
        if state.inode != file.state.inode and any(self._at_inode(file)):
            return True
        return not file.is_continued_at(file.path, state)

    def _names(self, file: File) -> Iterator[Path]:
        """The paths where a file may be, the most certain first."""
        yield from self._at_inode(file)
        if file.gone:
            return
        yield from self._beside(file)
        yield from self._copies(file)

    def _at_inode(self, file: File) -> Iterator[Path]:
        for path in self._by_inode.get(file.state.inode, ()):
            if path != file.path and self._is_inode_of(file, path, self.present[path]):
                yield path

    def _is_inode_of(self, file: File, path: Path, state: State) -> bool:
        return file.has_inode_of(path, state) and file.is_continued_at(path, state)

    def _beside(self, file: File) -> Iterator[Path]:
        """The same, under a name in its folder that is not looked for."""
        for path in self.listing.beside(file.path, file.state.inode) if file.state.inode else ():
            status = self.listing.status(path)
            if status is not None and self._is_inode_of(file, path, state_of(status)):
                self.present.setdefault(path, state_of(status))
                yield path

    def _copies(self, file: File) -> Iterator[Path]:
        for path, state in self.present.items():
            if path == file.path or (path in self.known and path not in self._leaving):
                continue
            if file.state is UNKNOWN:  # its manifest tells of nothing but its beginning
                is_copy = file.is_continued_at(path, state)
            else:
                is_copy = self._is_old_enough(file, path, state) and file.is_copied_to(path, state)
            if is_copy:
                yield path

    def _is_old_enough(self, file: File, path: Path, state: State) -> bool:
        if state.modified <= file.listed:
            return True
        now = self.present.get(file.path)
        return (
            now is not None
            and state.modified <= max(now.modified, now.changed)
            and is_rotated_name(file.path.name, path.name)
        )


def is_rotated_name(name: str, other: str) -> bool:
    """True for a name that a rotated log gets: `a.json.1`, `a.json-20240101`, `a-20240101.json`, `a.1.json`."""
    if other.startswith(name) and other[len(name) : len(name) + 1] in tuple(_SEPARATORS):
        return True
    stem, dot, ending = name.partition(".")
    middle = other[len(stem) : len(other) - len(dot + ending)]
    fits = other.startswith(stem) and other.endswith(dot + ending) and len(other) > len(name)
    return fits and re.fullmatch(r"[._-]\d[\d._T-]*", middle) is not None
