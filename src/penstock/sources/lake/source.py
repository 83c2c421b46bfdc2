"""The rows of a lake's table as a source: its content by parts, then the change of each version, whole.

A version is a transaction of whoever wrote it, so that no step sees half of one. Within a step what goes stands before
what comes. A file that cannot be read is reported and left out; a version that is gone, or that the table cannot take,
ends the run, since all that follows would be wrong.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from penstock.catalog.model import Table
from penstock.catalog.reserved import OPERATION
from penstock.errors import DataError, Diagnostic, first_line
from penstock.sources.lake.api import GoneError, LakeTable, Part, UnreadableError
from penstock.sources.lake.netting import net
from penstock.sources.lake.position import LakePosition, position_of
from penstock.sources.position import IDENTITY
from penstock.sources.properties import check_replaced
from penstock.sources.transport import Report
from penstock.steps.rows.batch import DELETE, INSERT, Batch, RowReader, concatenated
from penstock.steps.rows.rejected import Rejections

_FAILURES = (pa.ArrowException, OSError, ValueError, OverflowError)


@dataclass(frozen=True, slots=True)
class _Range:
    """The range that was, or is to be, read."""

    start: LakePosition
    end: LakePosition


@dataclass
class LakeSource:
    """The rows of one table, from `at` on: None is before the content."""

    table: Table
    lake: LakeTable
    reader: RowReader
    at: LakePosition | None = None
    beginning: LakePosition | None = None
    identity: str | None = None
    _read: list[_Range] = field(default_factory=list)
    _again: list[_Range] = field(default_factory=list)
    _content: tuple[int, Sequence[Part]] | None = None
    _part: tuple[Part, pa.Table] | None = None

    def read(self, rows: int, rejections: Rejections, *, ended: bool = False) -> Batch | None:  # noqa: ARG002
        """Up to about `rows` new rows, or those that `seek` has named."""
        report = Report(self.table, rejections)
        try:
            self._see_replaced()
            found = self._repeated(report) if self._again else self._read_on(rows, report)
        except GoneError as error:
            raise self._gone(str(error)) from error
        except UnreadableError as error:
            message = f"table {self.table.name}, {self.lake.describe()}: {error}"
            raise DataError(Diagnostic("LAKE_CANNOT_READ", message, self.table.span, hint=error.hint)) from error
        return concatenated(found) if found else None

    def _see_replaced(self) -> bool:
        """Begin anew with a table that is another than the one that was read (True), or DataError."""
        if self.at is None or self.identity is None or self._read:
            return False
        now = self.lake.identity(self.at.version)
        if now is None and (latest := self.lake.latest()) is not None:
            now = self.lake.identity(latest)
        if now is None or now == self.identity:
            return False
        check_replaced(self.table, self.lake.describe(), self.identity, now)
        self.at, self.identity, self._content, self._part = self.beginning, None, None, None
        self.lake.recall({}, None)
        return True

    def _read_on(self, rows: int, report: Report) -> list[Batch]:
        found: list[Batch] = []
        left = rows
        while left > 0:
            at = self._start()
            step = None if at is None else self._next(at, left, report)
            if at is None or step is None:
                break
            batches, end = step
            left -= self._taken_up(at, end, batches, found)
        return found

    def _start(self) -> LakePosition | None:
        """The position to go on from: before the content of the newest version, if nothing has been read."""
        if self.at is None and (latest := self.lake.latest()) is not None:
            return LakePosition(latest, 0)
        return self.at

    def _taken_up(self, start: LakePosition, end: LakePosition, batches: list[Batch], found: list[Batch]) -> int:
        self._read.append(_Range(start, end))
        self.at = end
        if self.identity is None or end.version != start.version:
            self.identity = self.lake.identity(end.version)
        found += [batch for batch in batches if len(batch)]
        return sum(map(len, batches))

    def _repeated(self, report: Report) -> list[Batch]:
        """The rows that a manifest names, read again."""
        found: list[Batch] = []
        for item in self._again:
            at = item.start
            while at != item.end:
                same = at.part is not None and at.part == item.end.part
                step = self._next(at, item.end.row - at.row if same else _ALL, report)
                if step is None:
                    message = f"version {at.version} is the newest, and a step has read {item.end.version}"
                    raise GoneError(message)
                batches, end = step
                self._taken_up(at, end, batches, found)
                at = end
        return found

    def _next(self, at: LakePosition, rows: int, report: Report) -> tuple[list[Batch], LakePosition] | None:
        """The rows behind a position, and the position behind those; None if there are none yet."""
        if at.part is not None:
            return self._of_content(at, at.part, rows, report)
        following = self.lake.after(at.version)
        return None if following is None else (self._of_change(following, report), LakePosition(following))

    def _of_content(self, at: LakePosition, number: int, rows: int, report: Report) -> tuple[list[Batch], LakePosition]:
        if self._content is None or self._content[0] != at.version:
            self._content = at.version, self.lake.content(at.version)
        parts = self._content[1]
        if number >= len(parts):  # there is none at all
            return [], LakePosition(at.version)
        part = parts[number]
        data = self._data(part, report)
        size = 0 if data is None else data.num_rows
        end = min(size, at.row + rows)
        behind = LakePosition(at.version, number + 1) if number + 1 < len(parts) else LakePosition(at.version)
        batches = [] if data is None else [self._batch(data.slice(at.row, end - at.row), part.name, at.row, report)]
        return batches, LakePosition(at.version, number, end) if end < size else behind

    def _data(self, part: Part, report: Report) -> pa.Table | None:
        """The rows of a part of a content, which is kept while it is read by and by; None if it cannot be read."""
        if self._part is None or self._part[0] is not part:
            found = self._rows(part, report)
            if found is None:
                return None
            self._part = part, found
        return self._part[1]

    def _rows(self, part: Part, report: Report) -> pa.Table | None:
        try:
            return part.read()
        except FileNotFoundError as error:
            message = f"the file {part.name} is not there any more"
            raise GoneError(message) from error
        except _FAILURES as error:
            what = first_line(error)
            report.broken(part.name, Diagnostic("CANNOT_READ", f"cannot be read: {what}"))
            return None

    def _of_change(self, version: int, report: Report) -> list[Batch]:
        """The rows of a version's change: those that go, then those that come."""
        change = self.lake.change(version)
        read = [(part.operation, rows) for part in change.parts if (rows := self._rows(part, report)) is not None]
        removed = _joined([_only(rows, operation, DELETE) for operation, rows in read])
        added = _joined([_only(rows, operation, INSERT) for operation, rows in read])
        if removed is not None and added is not None and not change.exact:
            removed, added = net(removed, added)
        if removed is not None and removed.num_rows and self.table.append_only:
            raise self._retracts(version)
        place = f"{self.lake.describe()} version {version}"
        both = ((removed, DELETE), (added, INSERT))
        return [self._batch(_marked(rows, mark), place, 0, report) for rows, mark in both if rows is not None]

    def _batch(self, rows: pa.Table, name: str, first: int, report: Report) -> Batch:
        return self.reader.read_arrow(rows, report.rejections, partial(_place, name, first))

    def _retracts(self, version: int) -> DataError:
        kind = "a stream" if self.table.stream else "append_only"
        message = f"table {self.table.name} is {kind}, and version {version} of {self.lake.describe()} takes rows back"
        hint = "a table that is neither takes them, whether or not it has a PRIMARY KEY"
        return DataError(Diagnostic("APPEND_ONLY", message, self.table.span, hint=hint))

    def _gone(self, what: str) -> DataError:
        message = f"table {self.table.name}, {self.lake.describe()}: {what}"
        hint = "keep versions and their files for as long as they may be read; a new directory begins with the content"
        return DataError(Diagnostic("CANNOT_READ_AGAIN", message, self.table.span, hint=hint))

    def taken(self) -> dict[str, Any]:
        """The range read since the last commit, from where to where."""
        if not self._read:
            return {}
        whole = {"from": self._read[0].start.to_json(), "to": self._read[-1].end.to_json()}
        known = {} if self.identity is None else {IDENTITY: {"table": self.identity, **self.lake.facts()}}
        return {"connector": self.table.properties["connector"].lower(), "read": [{**known, **whole}]}

    def seek(self, taken: Mapping[str, Any]) -> None:
        """Read next what a manifest names, and no more."""
        self._again = [_range(item) for item in taken.get("read", ())]

    def skip(self, taken: Mapping[str, Any]) -> None:
        """Go on behind what a manifest names."""
        for item in taken.get("read", ()):
            self.at = position_of(item["to"])
            self.identity = item.get(IDENTITY, {}).get("table")
            self.lake.recall(item.get(IDENTITY, {}), self.at.version)

    def commit(self) -> None:
        """Take note that what has been read is part of a step."""
        self._read.clear()
        self._again.clear()

    def rewind(self) -> None:
        """Read again what was read since the last commit."""
        if self._read:
            self.at = self._read[0].start
        self._read.clear()

    def waiting(self) -> tuple[int, int]:
        """No bytes; one file, while the content is being read."""
        return 0, int(self.at is not None and self.at.part is not None)

    def describe(self) -> str:
        """The source as its user names it."""
        return f"{self.table.name} from {self.lake.describe()}"


_ALL = 1 << 62


def _place(name: str, first: int, index: int) -> str:
    return f"{name}:{first + index + 1}"


def _range(item: Mapping[str, Any]) -> _Range:
    return _Range(position_of(item["from"]), position_of(item["to"]))


def _only(rows: pa.Table, operation: str, wanted: str) -> pa.Table | None:
    """The rows of a part with one operation, which is said of all of them or of each."""
    if OPERATION in rows.column_names:
        return rows.filter(pc.equal(rows.column(OPERATION), wanted)).drop_columns([OPERATION])
    return rows if operation == wanted else None


def _joined(parts: Sequence[pa.Table | None]) -> pa.Table | None:
    found = [rows for rows in parts if rows is not None]
    return pa.concat_tables(found, promote_options="permissive") if found else None


def _marked(rows: pa.Table, operation: str) -> pa.Table:
    if operation == INSERT:
        return rows
    return rows.append_column(OPERATION, pa.array([operation] * rows.num_rows, pa.string()))
