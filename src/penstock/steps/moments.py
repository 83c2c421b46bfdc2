"""The clock of each step."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta

_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 - UTC, as all clocks
_MICROSECOND = timedelta(microseconds=1)


@dataclass
class Moments:
    """The clocks of the steps, which never go back."""

    _steps: array[int] = field(default_factory=lambda: array("q"))
    _clocks: array[int] = field(default_factory=lambda: array("q"))

    @property
    def last(self) -> int:
        """The last step, 0 before the first."""
        return self._steps[-1] if self._steps else 0

    def add(self, step: int, clock: datetime) -> None:
        """A step has happened."""
        self._steps.append(step)
        self._clocks.append((clock - _EPOCH) // _MICROSECOND)

    def clock_of(self, step: int) -> datetime | None:
        """The clock of the last step that is not after this one; None before the first."""
        at = bisect_right(self._steps, step)
        return _EPOCH + self._clocks[at - 1] * _MICROSECOND if at else None

    def clocks_of(self, steps: Iterable[int]) -> Iterator[datetime]:
        """The clocks of steps that have happened."""
        for step in steps:
            yield _EPOCH + self._clocks[bisect_right(self._steps, step) - 1] * _MICROSECOND

    def step_at(self, clock: datetime) -> int:
        """The last step whose clock is not later; 0 before the first."""
        at = bisect_right(self._clocks, (clock - _EPOCH) // _MICROSECOND)
        return self._steps[at - 1] if at else 0
