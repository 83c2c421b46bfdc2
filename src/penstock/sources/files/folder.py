"""A folder whose files grow, are renamed, are replaced, and go.

A file is known by its path and its beginning (`identity`). One that was renamed goes on where it was (`renaming`); one
that has other content under the same name, or has become shorter, is a new one, or an error that names it; what went
before all of it was read is reported, and the others are read on. What a manifest tells of a file is known as it was,
and the next look says what has become of it, as of any other.

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
from penstock.sources.files.file import File, recalled
from penstock.sources.files.identity import State, state_of
from penstock.sources.files.listing import Listing
from penstock.sources.files.renaming import Renaming
from penstock.sources.position import BROKEN
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
    _files_so_far: int = 0
    _recalled: dict[int | str, Path] = field(default_factory=dict)

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
        now = round(self.now() * _NANO)
        present = self._present()
        for lost in self._follow_renamed(present):
            self._report_lost(lost, report)
        self._add_new(present)
        for path, file in list(self._files.items()):
            state = present.get(path)
            if state is None:
                self._vanished(file, report)
            else:
                if file.state != state or file.gone:
                    self._changed(file, state, report)
                self._files[path].listed = now
                self._leave_broken(self._files[path])

    def _present(self) -> dict[Path, State]:
        """The files that are there, with those that were renamed to names that are not looked for."""
        present = {path: state_of(status) for path, status in self.listing.files()}
        for path, file in self._files.items():
            if path not in present and not file.gone:
                status = self.listing.status(path)
                if status is not None:
                    present[path] = state_of(status)
        return present

    def _add_new(self, present: Mapping[Path, State]) -> None:
        """Have the files that were not there; another name (a hard link) of one that is there is no other file."""
        new = [path for path in present if path not in self._files]
        states = {present[path] for path in self._files if path in present} if new else set()
        for path in new:
            state = present[path]
            if not state.inode or state not in states:
                self._files[path] = self._new(path, state)
                states.add(state)

    def _new(self, path: Path, state: State) -> File:
        self._files_so_far += 1
        return File(path, state, self._looks, self.whole, self._files_so_far)

    def _changed(self, file: File, state: State, report: Report) -> None:
        """A file that is not as it was at the last look."""
        if not file.is_continued_at(file.path, state):
            self._replaced(file, state, report)
            return
        is_same = file.state == state
        file.is_noted = file.is_noted and not file.gone
        file.state, file.gone = state, False
        file.order = file.order or state.modified
        file.changed = file.changed if is_same else self._looks

    def _replaced(self, file: File, state: State, report: Report) -> None:
        if self.fail_on_replaced:
            is_shorter = state.size < file.at.offset and not file.is_opaque
            what = "is shorter than" if is_shorter else "has other content than"
            message = f"table {self.table}: {file.path} {what} what was read of it"
            hint = "give new content a new name, or have it read as a new file: 'on_replaced' = 'read'"
            raise DataError(Diagnostic("FILE_REPLACED", message, hint=hint))
        self._files[file.path] = self._new(file.path, state)
        self._report_lost(file, report)

    def _report_lost(self, file: File, report: Report) -> None:
        lost = file.remaining
        if lost and file.at.offset:
            message = f"it was replaced before its last {lost} bytes were read"
            report.broken(file.name, Diagnostic("FILE_REPLACED", message))

    def _vanished(self, file: File, report: Report) -> None:
        if file.gone:
            return
        lost, file.gone, file.is_noted = file.remaining, True, False
        if lost:
            report.broken(file.name, Diagnostic("FILE_GONE", f"it has gone, and {lost} bytes of it were not read"))

    def _follow_renamed(self, present: dict[Path, State]) -> list[File]:
        """Have files under their new names; those that stood there, and are nowhere any more, are given back."""
        moved, lost = Renaming(self.listing, self._files, present).moved(), []
        for file in moved.values():
            del self._files[file.path]
        for path, file in moved.items():
            if path in self._files:
                lost.append(self._files[path])
            file.called(path)
            file.gone = False
            self._files[path] = file
        return lost

    def _leave_broken(self, file: File) -> None:
        """Have a file rest that a manifest says cannot be read on, unless it is another by now."""
        broken, file.broken = file.broken, None
        if broken and file.has(broken):
            file.break_off()

    def recall(self, facts: Mapping[str, Any]) -> None:
        """Know a file as a manifest tells of it; the next look says what has become of it."""
        file = recalled(facts, whole=self.whole)
        file.broken = facts.get(BROKEN)
        before = self._files.get(self._recalled.get(file.number, file.path))
        if before is not None and before.number == file.number:
            del self._files[before.path]
        self._recalled[file.number] = file.path
        self._files[file.path] = file
        if isinstance(file.number, int):
            self._files_so_far = max(self._files_so_far, file.number)

    def renamed(self) -> Iterator[File]:
        """The files of which a manifest has to tell although nothing more was read of them."""
        return (file for file in self._files.values() if not file.is_noted and file.head.length)

    def find(self, facts: Mapping[str, Any]) -> File:
        """The file that a manifest tells of, under whatever name; DataError if it is not there any more."""
        self.recall(facts)
        number, present = facts.get("file", facts["path"]), self._present()
        self._follow_renamed(present)
        file = next(file for file in self._files.values() if file.number == number)
        state = present.get(file.path)
        if state is None or not file.is_continued_at(file.path, state):
            message = f"table {self.table}: {facts['path']}, which a step has read, is not there as it was"
            raise DataError(Diagnostic("CANNOT_READ_AGAIN", message))
        file.state = state
        return file

    def commit(self) -> None:
        """Files stay as they are, and the manifest of the step tells of them."""
        for file in self._files.values():
            file.is_noted = True

    def waiting(self) -> tuple[int, int]:
        """Bytes and files that have not been read."""
        files = [file for file in self._files.values() if file.remaining]
        return sum(file.remaining for file in files), len(files)

    def describe(self) -> str:
        """The folder as its user names it."""
        return self.listing.path
