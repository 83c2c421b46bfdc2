"""A folder whose files grow, are renamed, are replaced, and go.

A file is known by its path and its beginning (`identity`). One that was renamed goes on where it was; one that has
other content under the same name is a new one, or an error that names it; one that has become shorter, or has gone
before all of it was read, is reported, and the others are read on.

A file is complete, so that its last line counts without a line end, when the input has ended, when nobody has written
to it for `complete_after`, or when a newer file has come and nobody has written to this one since. Which of the files
that are there at the first look is newer says nothing: their writers may all be at work.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

from penstock.errors import DataError, Diagnostic
from penstock.sources.files.file import File
from penstock.sources.files.identity import Head, Likeness, State, state_of
from penstock.sources.files.listing import Listing
from penstock.sources.transport import Report

# Two writers may take turns: that another file is newer says nothing of one that was written to a moment ago.
_TURN = 2.0
_NANO = 10**9


@dataclass
class Folder:
    """The files of one table."""

    table: str
    listing: Listing
    whole: bool = False
    fail_on_replaced: bool = False
    complete_after: timedelta = timedelta(minutes=1)
    now: Callable[[], float] = time.time
    _files: dict[Path, File] = field(default_factory=dict)
    _looks: int = 0

    def streams(self, report: Report, *, ended: bool) -> Iterator[File]:
        """The files with something unread, oldest first."""
        self._look(report)
        is_complete = self._completeness()
        for file in sorted(self._files.values(), key=lambda one: (one.order, str(one.path))):
            file.complete = ended or is_complete(file)
            if file.is_unread:
                yield file

    def _completeness(self) -> Callable[[File], bool]:
        """A function that tells of a file if its writer is done."""
        now, after = self.now(), self.complete_after.total_seconds()
        appeared = max((file.seen for file in self._files.values() if not file.gone), default=0)

        def is_complete(file: File) -> bool:
            silence = now - file.state.modified / _NANO
            return silence >= after or (appeared > file.changed and silence >= _TURN)

        return is_complete

    def _look(self, report: Report) -> None:
        """Have the files as they are now."""
        self._looks += 1
        found = self._found()
        self._follow_renamed(found)
        for path, state in found.items():
            file = self._files.get(path)
            if file is None:
                self._files[path] = File(path, state, self._looks, self.whole)
            elif file.state != state or file.gone:
                self._changed(file, state, report)
        for path, file in self._files.items():
            if path not in found and not file.gone:
                self._vanished(file, report)

    def _found(self) -> dict[Path, State]:
        """The files that are there, with those that were renamed to names that are not looked for."""
        found = {path: state_of(status) for path, status in self.listing.files()}
        for path in self._files:
            if path not in found:
                status = self.listing.status(path)
                if status is not None:
                    found[path] = state_of(status)
        return found

    def _changed(self, file: File, state: State, report: Report) -> None:
        """A file that is not as it was at the last look."""
        likeness = _likeness(file.head, file.path)
        if likeness is Likeness.OTHER or (file.whole and not file.is_followed_by(state, likeness)):
            self._replaced(file, state, report)
            return
        shorter = not file.is_followed_by(state, likeness)
        file.state, file.changed, file.gone = state, self._looks, False
        if shorter:
            message = f"it has become shorter: {state.size} bytes, {file.at.offset} were read"
            report.broken(file.name, Diagnostic("FILE_SHRUNK", message))

    def _replaced(self, file: File, state: State, report: Report) -> None:
        if self.fail_on_replaced:
            message = f"table {self.table}: {file.path} has other content than what was read of it"
            hint = "give new content a new name, or have it read as a new file: 'on_replaced' = 'read'"
            raise DataError(Diagnostic("FILE_REPLACED", message, hint=hint))
        lost = file.remaining
        self._files[file.path] = File(file.path, state, self._looks, self.whole)
        if lost and file.at.offset:
            message = f"it was replaced before its last {lost} bytes were read"
            report.broken(file.name, Diagnostic("FILE_REPLACED", message))

    def _vanished(self, file: File, report: Report) -> None:
        lost, file.gone = file.remaining, True
        if lost:
            report.broken(file.name, Diagnostic("FILE_GONE", f"it has gone, and {lost} bytes of it were not read"))

    def _follow_renamed(self, found: dict[Path, State]) -> None:
        """Have files under their new names, where those are others' or nobody's until now."""
        moved: dict[Path, File] = {}
        for file in [file for path, file in self._files.items() if self._has_left(file, found.get(path))]:
            path = self._where(file, found)
            if path is not None:
                moved[path] = file
        for file in moved.values():
            del self._files[file.path]
        for path, file in moved.items():
            if path not in found and (status := self.listing.status(path)) is not None:
                found[path] = state_of(status)
            file.called(path)
            file.gone = False
            self._files[path] = file

    def _has_left(self, file: File, state: State | None) -> bool:
        """True if what stands under its name is not the file any more, be it renamed, or copied and emptied."""
        if not file.head.length or (file.gone and state is None):
            return False
        if state is None or state == file.state:
            return state is None
        return not file.is_followed_by(state, _likeness(file.head, file.path))

    def _where(self, file: File, found: Mapping[Path, State]) -> Path | None:
        """The new name of a file: the inode's, or that of a copy that begins as it does and is called much the same."""
        others = [path for path in found if path != file.path]
        renamed = [path for path in others if found[path].inode == file.state.inode]
        renamed = renamed or list(self.listing.beside(file.path, file.state.inode))
        stem = file.path.name
        copied = [path for path in others if path not in self._files and path.name.startswith(stem)]
        return next((path for path in (*renamed, *copied) if self._is_at(file, path, found)), None)

    def _is_at(self, file: File, path: Path, found: Mapping[Path, State]) -> bool:
        status = None if path in found else self.listing.status(path)
        state = found[path] if path in found else None if status is None else state_of(status)
        return state is not None and file.is_followed_by(state, _likeness(file.head, path))

    def find(self, facts: Mapping[str, Any]) -> File:
        """The file that a manifest tells of, by its path or, if it was renamed, by its beginning."""
        path, head = Path(facts["path"]), Head(facts["head"]["bytes"], facts["head"]["digest"])
        others = (*self._files, *(other for other, _ in self.listing.files())) if head.length else ()
        for candidate in (path, *others):
            status = self.listing.status(candidate)
            if status is not None and _likeness(head, candidate) is Likeness.SAME:
                return self._registered(candidate, state_of(status), head)
        message = f"table {self.table}: {path}, which a step has read, is not there as it was"
        raise DataError(Diagnostic("CANNOT_READ_AGAIN", message))

    def _registered(self, path: Path, state: State, head: Head) -> File:
        file = self._files.get(path)
        if file is None:
            file = self._files[path] = File(path, state, max(1, self._looks), self.whole)
        if file.head.length < head.length:
            file.head = head.grown(path, head.length)
        return file

    def commit(self) -> None:
        """Files stay as they are."""

    def waiting(self) -> tuple[int, int]:
        """Bytes and files that have not been read."""
        files = [file for file in self._files.values() if file.remaining]
        return sum(file.remaining for file in files), len(files)

    def describe(self) -> str:
        """The folder as its user names it."""
        return self.listing.path


def _likeness(head: Head, path: Path) -> Likeness:
    try:
        return head.likeness(path)
    except OSError:  # it may not be read, which reading says, or has just gone, which the next look finds
        return Likeness.SAME
