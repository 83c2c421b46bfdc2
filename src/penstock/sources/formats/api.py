"""A format cuts a piece of whole records from a stream, and makes a batch of rows from it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from penstock.sources.position import Position
from penstock.sources.transport import Stream
from penstock.steps.rows.batch import Batch
from penstock.steps.rows.rejected import Rejections


@dataclass(frozen=True, slots=True)
class Broken:
    """A record, or what cannot be one, that is rejected as it stands."""

    what: str
    shown: str | None = None


@dataclass(frozen=True, slots=True)
class Piece:
    """Whole records of a stream: its bytes or rows, or what is broken there; where it begins and ends."""

    name: str
    data: Any
    at: Position
    after: Position

    def place(self, line: int) -> str:
        """The place of one of its lines, counted from 0, in the stream."""
        return f"{self.name}:{self.at.lines + line + 1}"


class Format(Protocol):
    """The way in which the streams of a table are read."""

    name: str

    def piece(
        self, stream: Stream, at: Position, rows: int, *, complete: bool, until: int | None = None
    ) -> Piece | None:
        """About `rows` records from a position on; None if nothing whole is there.

        In a stream that is `complete` a last record without its end is one. Nothing is read beyond `until`.
        """

    def batch(self, piece: Piece, rejections: Rejections) -> Batch:
        """The checked rows of a piece."""
