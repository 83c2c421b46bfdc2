r"""Whole records of bytes: only what ends with a line end is one, be it LF, CR LF or CR alone.

`next_piece` reads as much as it takes to have whole records, some megabytes at most if they are short; where a record
ends is said by the format's `End`. What has no end is a record only in a stream that is complete.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace

from penstock.sources.formats.api import Broken, Piece
from penstock.sources.position import Position, Tail
from penstock.sources.transport import Stream

CHUNK = 4 << 20
LONGEST = 64 << 20
_EXCERPT = 200
BOM = b"\xef\xbb\xbf"

# Of so many bytes, how many are whole records, of which there may be at most so many.
End = Callable[[bytes, int], int]

_LINE_END = re.compile(rb"\r\n|\n|\r")


@dataclass(frozen=True, slots=True)
class _Window:
    """The text from a position on: all of it, or as much as has been read."""

    stream: Stream
    at: Position
    until: int | None

    def read(self, size: int) -> bytes:
        """That many bytes, fewer at the end."""
        if self.until is not None:
            size = min(size, self.until - self.at.offset)
        return self.stream.read(self.at.offset, size) if size > 0 else b""

    def piece(self, text: bytes, data: bytes | Broken, tail: Tail = "") -> Piece:
        """The piece that has consumed `text`."""
        lines = line_count(text) + (tail == "half")
        after = replace(self.at, offset=self.at.offset + len(text), lines=self.at.lines + lines, tail=tail)
        return Piece(self.stream.name, data, self.at, after)


def next_piece(
    stream: Stream, at: Position, rows: int, end_of: End, *, complete: bool, until: int | None = None
) -> Piece | None:
    """The next whole records of a stream, about `rows` of them; None if there is none yet."""
    window = _Window(stream, at, until)
    if at.tail in ("half", "skipped"):
        return _rest_of_line(window, complete=complete)
    size = CHUNK
    while True:
        text = window.read(size)
        ended = len(text) < size
        if at.tail == "cr" and text.startswith(b"\n"):
            return Piece(stream.name, b"", at, replace(at, offset=at.offset + 1, tail=""))
        if not ended and text.endswith(b"\r"):
            text = text[:-1]  # the LF that may belong to it has not been read
        if end := end_of(text, rows):
            return _whole(window, text[:end], at_end=ended and end == len(text))
        if ended:
            return _last(window, text) if complete and text else None
        if size >= LONGEST:
            return _too_long(window, text)
        size = min(2 * size, LONGEST)


def _whole(window: _Window, text: bytes, *, at_end: bool) -> Piece:
    data = text.removeprefix(BOM) if window.at.offset == 0 else text
    return window.piece(text, data, "cr" if at_end and text.endswith(b"\r") else "")


def _last(window: _Window, text: bytes) -> Piece:
    """The piece at the end of a complete stream: a record without a line end, or one that is broken off."""
    data = text.removeprefix(BOM) if window.at.offset == 0 else text
    first = _LINE_END.search(text)
    if first is None:
        return window.piece(text, data, "half")
    return _broken_line(window, text[: first.end()], "a quote is opened and never closed")


def _too_long(window: _Window, text: bytes) -> Piece:
    first = _LINE_END.search(text)
    if first is not None:
        what = f"a quote is opened and not closed within {LONGEST >> 20} MiB"
        return _broken_line(window, text[: first.end()], what)
    return window.piece(text, Broken(f"a line is longer than {LONGEST >> 20} MiB", excerpt(text)), "skipped")


def _broken_line(window: _Window, line: bytes, what: str) -> Piece:
    return window.piece(line, Broken(what, excerpt(line)))


def _rest_of_line(window: _Window, *, complete: bool) -> Piece | None:
    """The piece up to the next line end, which belongs to a record that has been taken, or left out."""
    text = window.read(CHUNK)
    first = _LINE_END.search(text)
    if first is None and not (text and (complete or len(text) == CHUNK)):
        return None
    line = text if first is None else text[: first.end()]
    tail: Tail = window.at.tail if first is None else "cr" if line.endswith(b"\r") and line == text else ""
    written_on = window.at.tail == "half" and line.strip(b"\r\n")
    what = "this was written behind a last line that had been taken as complete"
    piece = window.piece(line, Broken(what, excerpt(line)) if written_on else b"", tail)
    # The line was counted when its beginning was taken, and not if it was left out.
    counted = line_count(line) if window.at.tail == "skipped" else 0
    return replace(piece, at=_one_up(piece.at), after=replace(piece.after, lines=window.at.lines + counted))


def _one_up(at: Position) -> Position:
    return replace(at, lines=max(0, at.lines - 1)) if at.tail == "half" else at


def line_count(text: bytes) -> int:
    """The number of line ends."""
    if b"\r" not in text:
        return text.count(b"\n")
    return text.count(b"\n") + text.count(b"\r") - text.count(b"\r\n")


def end_of_lines(text: bytes, rows: int) -> int:
    """The end of the last whole line, or of the line number `rows`."""
    if b"\r" in text:
        found = re.match(rb"(?:[^\r\n]*+(?:\r\n|\n|\r)){0,%d}+" % rows, text)
        return found.end() if found else 0
    if text.count(b"\n") <= rows:
        return text.rfind(b"\n") + 1
    end = 0
    for _ in range(rows):
        end = text.index(b"\n", end) + 1
    return end


def excerpt(text: bytes) -> str:
    """The beginning of bytes as text to show."""
    return text[:_EXCERPT].decode("utf-8", "backslashreplace")
