"""A source made of a transport and a format: reads records, takes them back, reads again what a manifest names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from penstock.catalog.model import Table
from penstock.errors import DataError, Diagnostic, message_of
from penstock.sources.formats.api import Format, Piece
from penstock.sources.position import BROKEN, Position, position_of
from penstock.sources.transport import BrokenStreamError, Report, Stream, Transport
from penstock.steps.rows.batch import Batch, concatenated
from penstock.steps.rows.rejected import Rejections


@dataclass(frozen=True, slots=True)
class _Range:
    """The range of one stream that was, or is to be, read; `broken` are the facts of a content that ends it there."""

    stream: Stream
    start: Position
    end: Position
    broken: Mapping[str, Any] | None = None


@dataclass
class RecordSource:
    """The rows of one table."""

    table: Table
    transport: Transport
    format: Format
    _read: list[_Range] = field(default_factory=list)
    _again: list[_Range] = field(default_factory=list)

    def read(self, rows: int, rejections: Rejections, *, ended: bool = False) -> Batch | None:
        """Up to about `rows` new rows, in order; or those that `seek` has named."""
        found: list[Batch] = []
        report = Report(self.table, rejections)
        if self._again:
            for item in self._again:
                self._repeat(item, found, report)
        else:
            self._read_on(rows, found, report, ended=ended)
        return concatenated(found) if found else None

    def _read_on(self, rows: int, found: list[Batch], report: Report, *, ended: bool) -> None:
        left = rows
        for stream in self.transport.streams(report, ended=ended):
            while left > 0:
                piece = self._piece(stream, left, report)
                if piece is None:
                    break
                left -= self._taken_up(stream, piece, found, report)
            if left <= 0:
                break

    def _piece(self, stream: Stream, rows: int, report: Report) -> Piece | None:
        try:
            piece = self.format.piece(stream, stream.at, rows, complete=stream.complete)
        except (OSError, BrokenStreamError) as error:
            report.broken(stream.name, Diagnostic("CANNOT_READ", f"cannot be read: {_reason(error)}"))
            self._leave(stream, of_disk=_is_of_disk(error))
            return None
        if piece is None:
            stream.rest()
        return piece

    def _leave(self, stream: Stream, *, of_disk: bool) -> None:
        """Have a stream wait that cannot be read; what it has is known for good unless it is for the disk's sake."""
        self._read.append(_Range(stream, stream.at, stream.at, None if of_disk else stream.content_facts()))
        if of_disk:
            stream.rest()
        else:
            stream.break_off()

    def _taken_up(self, stream: Stream, piece: Piece, found: list[Batch], report: Report) -> int:
        """Have the rows of a piece, and say how many records it held."""
        before = len(report.rejections.rows)
        batch = self.format.batch(piece, report.rejections)
        self._read.append(_Range(stream, piece.at, piece.after))
        stream.move(piece.after)
        if len(batch):
            found.append(batch)
        return len(batch) + len(report.rejections.rows) - before

    def _repeat(self, item: _Range, found: list[Batch], report: Report) -> None:
        """Read one range again, to its end and not beyond."""
        stream = item.stream
        stream.move(item.start)
        while stream.at.offset < item.end.offset:
            until = item.end.offset
            try:
                piece = self.format.piece(stream, stream.at, until, complete=True, until=until)
            except (OSError, BrokenStreamError) as error:
                raise self._gone(stream, _reason(error)) from error
            if piece is None:
                raise self._gone(stream, "it has become shorter")
            self._taken_up(stream, piece, found, report)
        stream.move(item.end)

    def _gone(self, stream: Stream, what: str) -> DataError:
        message = f"table {self.table.name}, {stream.name}: what a step has read cannot be read again: {what}"
        return DataError(Diagnostic("CANNOT_READ_AGAIN", message))

    def taken(self) -> dict[str, Any]:
        """The streams read since the last commit, in order, each from where to where."""
        ranges: list[_Range] = []
        for item in self._read:
            last = ranges[-1] if ranges else None
            if last is not None and last.stream is item.stream:
                ranges[-1] = _Range(item.stream, last.start, item.end, item.broken)
            else:
                ranges.append(item)
        read = [self._item(item) for item in ranges if item.start != item.end or item.broken]
        streams = [item.stream for item in ranges]
        others = [stream for stream in self.transport.renamed() if all(stream is not item for item in streams)]
        read += [self._item(_Range(stream, stream.at, stream.at)) for stream in others]
        return {"connector": self.table.properties["connector"].lower(), "read": read} if read else {}

    @staticmethod
    def _item(item: _Range) -> dict[str, Any]:
        ends = {"from": item.start.to_json(), "to": item.end.to_json()}
        return {**item.stream.facts(), **ends, **({BROKEN: dict(item.broken)} if item.broken else {})}

    def seek(self, taken: Mapping[str, Any]) -> None:
        """Read next what a manifest says was taken, and no more."""
        self._again = [self._range(item) for item in taken.get("read", ()) if item["from"] != item["to"]]

    def skip(self, taken: Mapping[str, Any]) -> None:
        """Go on behind what a manifest says was taken."""
        for item in taken.get("read", ()):
            self.transport.recall(item)

    def _range(self, item: Mapping[str, Any]) -> _Range:
        return _Range(self.transport.find(item), position_of(item["from"]), position_of(item["to"]))

    def commit(self) -> None:
        """Take note that what has been read is part of a step."""
        self._read.clear()
        self._again.clear()
        self.transport.commit()

    def rewind(self) -> None:
        """Read again from where the last commit was."""
        for item in reversed(self._read):
            item.stream.move(item.start)
        self._read.clear()

    def waiting(self) -> tuple[int, int]:
        """Bytes and streams that have not been read."""
        return self.transport.waiting()

    def describe(self) -> str:
        """The source as its user names it."""
        return f"{self.table.name} from {self.transport.describe()} ({self.format.name})"


def _is_of_disk(error: Exception) -> bool:
    """True if the system has not read what there is; a run after this one may."""
    found = error if isinstance(error, OSError) else error.__cause__
    return isinstance(found, OSError) and found.errno is not None


def _reason(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or message_of(error) or type(error).__name__
