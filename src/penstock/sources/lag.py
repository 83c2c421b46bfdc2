"""The lag of a source: how much is known to wait, and how old what was read last is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from penstock.sources.api import TableSource


@dataclass(frozen=True, slots=True)
class Lag:
    """All that waits, as far as it is known: rows (of topics: offsets), bytes, streams such as files and partitions.

    `seconds` is the age of what was read last, while more of it waits; 0 once all has been read.
    """

    rows: int | None = None
    bytes: int | None = None
    streams: int | None = None
    seconds: float | None = None

    @property
    def is_none(self) -> bool:
        """True if nothing is known to wait."""
        return not (self.rows or self.bytes or self.streams)


@runtime_checkable
class Lagging(Protocol):
    """A source that knows more of its lag than `waiting` tells."""

    def behind(self) -> Lag:
        """All that is known to wait."""


@runtime_checkable
class Troubled(Protocol):
    """A source that goes on in spite of an error, such as a broker that does not answer yet."""

    def trouble(self) -> str:
        """The error as it stands, without secrets; empty if there is none."""


def lag_of(source: TableSource) -> Lag:
    """The lag of any source."""
    if isinstance(source, Lagging):
        return source.behind()
    size, streams = source.waiting()
    return Lag(bytes=size, streams=streams)
