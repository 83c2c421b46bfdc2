"""A transport brings what a connector reads: streams of bytes, each with its position.

A file is a stream, and so is a connection. The transport knows which there are, in which order, and when one is
complete; it knows nothing of records and rows, which are the format's.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from penstock.catalog.model import Table
from penstock.errors import DataError, Diagnostic
from penstock.sources.position import Position
from penstock.steps.rows.rejected import BAD_FILE, Rejections, row_json


class BrokenStreamError(Exception):
    """A stream that cannot be read, or is not of its format; the message says why."""


class Stream(Protocol):
    """Bytes that grow at their end."""

    at: Position

    @property
    def name(self) -> str:
        """The stream as a row's place names it."""

    @property
    def complete(self) -> bool:
        """True if nobody will write more: then a last record without its end is one."""

    @property
    def path(self) -> Path | None:
        """The file whose parts can be read in any order; None for bytes that flow by."""

    def read(self, offset: int, size: int) -> bytes:
        """Up to that many bytes from an offset; fewer only at the present end. OSError or BrokenStreamError."""

    def move(self, to: Position) -> None:
        """Go on from a position, before which all has been read; a position that was left may come back."""

    def rest(self) -> None:
        """There is no further record now; not asked again until there is more, or it is complete."""

    def break_off(self) -> None:
        """It cannot be read on; not asked again until it has changed."""

    def facts(self) -> dict[str, Any]:
        """The facts that recognise the stream, ready for JSON."""

    def content_facts(self) -> dict[str, Any]:
        """The facts by which what it has now is recognised, ready for JSON; none if it cannot be recognised."""

    def has(self, content: Mapping[str, Any]) -> bool:
        """True if what it has is what these facts were found of."""


@dataclass(frozen=True, slots=True)
class Report:
    """Tells of a stream that is at fault: in `error_view`, or by an error if nothing is tolerated."""

    table: Table
    rejections: Rejections

    def broken(self, name: str, found: Diagnostic) -> None:
        """One stream is left out, or what is left of it."""
        if not self.rejections.tolerant:
            raise DataError(replace(found, message=f"table {self.table.name}, {name}: {found.message}"))
        self.rejections.add(self.table.name, BAD_FILE, row_json({"place": name, "error": found.message}))


class Transport(Protocol):
    """Knows the streams of one table."""

    def streams(self, report: Report, *, ended: bool) -> Iterator[Stream]:
        """The streams with something unread, in order; with `ended` all of them are complete."""

    def find(self, facts: Mapping[str, Any]) -> Stream:
        """The stream that a manifest tells of; DataError if it is not there any more."""

    def recall(self, facts: Mapping[str, Any]) -> None:
        """Stand behind what a manifest tells of a stream, which is looked for when streams are next."""

    def renamed(self) -> Iterable[Stream]:
        """The streams that a manifest has to tell of although nothing was read of them, as they are known otherwise."""

    def commit(self) -> None:
        """Take note that what was read is part of a step, and will not be read again."""

    def waiting(self) -> tuple[int, int]:
        """Bytes and streams that are known to wait."""

    def describe(self) -> str:
        """Where the bytes come from, as the user names it."""
