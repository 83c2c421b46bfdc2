"""Bytes that flow by, as of a connection: one stream, kept until a step has taken it, and not to be had again."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from typing import Any

from penstock.errors import DataError, Diagnostic
from penstock.sources.position import Position
from penstock.sources.transport import Report


class Flow(ABC):
    """A transport that is its own and only stream; a connector says how the next bytes are received."""

    path = None

    def __init__(self, name: str) -> None:
        self.name = name
        self.at = Position()
        self.complete = False
        self._kept = 0  # the offset of the first byte that is still here
        self._bytes = bytearray()

    @abstractmethod
    def receive(self) -> bytes | None:
        """The bytes that have come, none if there are none now, None if no more will come."""

    def streams(self, report: Report, *, ended: bool) -> Iterator[Flow]:  # noqa: ARG002
        """Itself, if something is unread."""
        while not self.complete and (more := self.receive()) != b"":
            self.complete = more is None
            self._bytes += more or b""
        closed, self.complete = self.complete, self.complete or ended
        if self.waiting()[0]:
            yield self
        self.complete = closed

    def read(self, offset: int, size: int) -> bytes:
        """Some of the bytes that are kept."""
        start = offset - self._kept
        return bytes(self._bytes[start : start + size])

    def move(self, to: Position) -> None:
        """Read on, or again what is kept."""
        self.at = to

    def rest(self) -> None:  # noqa: B027 - nothing is to be done, and no connector needs to say so
        """Rest until more has come; what is there is looked at again then."""

    def break_off(self) -> None:  # noqa: B027 - as above
        """Rest until more has come."""

    def content_facts(self) -> dict[str, Any]:
        """None: what has flowed by does not come again."""
        return {}

    def has(self, content: Mapping[str, Any]) -> bool:  # noqa: ARG002
        """False: it may be anything."""
        return False

    def facts(self) -> dict[str, Any]:
        """Where it flowed."""
        return {"flow": self.name}

    def find(self, facts: Mapping[str, Any]) -> Flow:
        """Refused: what has flowed by is gone."""
        message = f"{facts.get('flow', self.name)}: what a step has read of it cannot be read again"
        raise DataError(Diagnostic("CANNOT_READ_AGAIN", message))

    def recall(self, facts: Mapping[str, Any]) -> None:  # noqa: B027 - as above
        """Nothing: what has flowed by does not come again."""

    def renamed(self) -> tuple[Flow, ...]:
        """None."""
        return ()

    def commit(self) -> None:
        """Forget what is part of a step."""
        del self._bytes[: self.at.offset - self._kept]
        self._kept = self.at.offset

    def waiting(self) -> tuple[int, int]:
        """Bytes that have come and were not read."""
        left = self._kept + len(self._bytes) - self.at.offset
        return left, int(left > 0)

    def describe(self) -> str:
        """The name of what flows."""
        return self.name
