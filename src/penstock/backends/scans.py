"""The parts of traces that an operator has read, while that is measured (penstock.engine.profiler)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol


class Part(Protocol):
    """Rows that are remembered in one place; told apart by identity."""

    @property
    def rows(self) -> int | None:
        """Their number."""

    @property
    def distributed(self) -> bool:
        """True if they lie on the executors."""


class Scans:
    """Parts that have been read; one that a query names several times counts once."""

    def __init__(self) -> None:
        self.rows = 0
        self.layers = 0
        self._parts: dict[int, Part] = {}

    def read(self, parts: Iterable[Part]) -> None:
        """Note that all rows of these parts are read."""
        self._parts.update((id(part), part) for part in parts)

    def add_up(self) -> None:
        """Count what has been read; what is read from here on is read again."""
        self.rows += sum(part.rows or 0 for part in self._parts.values())
        self.layers += sum(part.distributed for part in self._parts.values())
        self._parts.clear()
