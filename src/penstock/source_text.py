"""SQL text that knows its files, and the location of a character in it.

A program may be several files. They are compiled as one text, in which every span counts characters; a `SourceText` is
that text with the offset at which each file begins, so that a location is told in the file's own lines.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Self


@dataclass(frozen=True, slots=True)
class Location:
    """A line and a column, both from 1, in a file; `file` is None for text that comes from none."""

    file: str | None
    line: int
    column: int

    def __str__(self) -> str:
        """`file:line:column`, or `line 3, column 25` without a file."""
        if self.file is None:
            return f"line {self.line}, column {self.column}"
        return f"{self.file}:{self.line}:{self.column}"

    def to_json(self) -> dict[str, Any]:
        """The file, if there is one, line and column."""
        named = {} if self.file is None else {"file": self.file}
        return {**named, "line": self.line, "column": self.column}


class SourceText(str):
    """A text of which some parts are files; `parts` has where each begins, and its name or None, in order."""

    __slots__ = ("parts",)
    parts: tuple[tuple[int, str | None], ...]

    def __new__(cls, text: str, parts: Iterable[tuple[int, str | None]] = ()) -> Self:
        """The text itself, which equals the same text without its files."""
        made = super().__new__(cls, text)
        made.parts = tuple(parts)
        return made

    @classmethod
    def joined(cls, texts: Iterable[tuple[str, str | None]]) -> SourceText:
        """Texts behind one another, with a line end between two; each with its file's name or None."""
        parts: list[tuple[int, str | None]] = []
        text = ""
        for part, name in texts:
            text += "\n" if parts else ""
            parts.append((len(text), name))
            text += part
        return cls(text, parts)

    def with_text(self, text: str) -> SourceText:
        """Another text of the same length in its place, such as one with parts blanked out."""
        return SourceText(text, self.parts)

    def part_at(self, offset: int) -> tuple[int, int, str | None]:
        """Where the part begins and ends in which a character lies, and its file."""
        at = bisect_right(self.parts, offset, key=lambda part: part[0]) - 1
        begin, name = self.parts[at] if at >= 0 else (0, None)
        end = self.parts[at + 1][0] - 1 if at + 1 < len(self.parts) else len(self)
        return begin, end, name


def part_at(source: str, offset: int) -> tuple[int, int, str | None]:
    """Where the file begins and ends in which a character lies, and its name; the whole text where it has no files."""
    return source.part_at(offset) if isinstance(source, SourceText) else (0, len(source), None)


def short_place(source: str, offset: int) -> str:
    """`file:line:column` in a text of several files, `3:25` in any other."""
    location = location_of(source, offset)
    several = isinstance(source, SourceText) and len(source.parts) > 1
    return str(location) if several and location.file is not None else f"{location.line}:{location.column}"


def location_of(source: str, offset: int) -> Location:
    """The location of a character."""
    begin, _, name = part_at(source, offset)
    before = source[begin:offset]
    return Location(name, before.count("\n") + 1, len(before) - (before.rfind("\n") + 1) + 1)
