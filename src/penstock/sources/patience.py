"""When something that is asked again and again is asked next, and how long it may not answer."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass


def is_awaited(source: object) -> bool:
    """True while a source has not answered, of which it makes an error itself when that has lasted too long."""
    return bool(getattr(source, "is_awaited", False))


@dataclass
class Patience:
    """The looks of one source: `every` so many seconds while there is nothing new, a `timeout` while it is away."""

    every: float
    timeout: float
    now: Callable[[], float] = time.monotonic
    said: str = ""
    _next: float = 0.0
    _away_since: float | None = None

    @property
    def is_away(self) -> bool:
        """True while it does not answer; it is an error when it has not for too long."""
        return self._away_since is not None

    def is_due(self, *, ended: bool) -> bool:
        """True if it is time to ask; with `ended` it is asked at once, but for what is away."""
        return self.now() >= self._next or (ended and self._away_since is None)

    def answered(self) -> None:
        """It is there."""
        self._away_since, self.said = None, ""

    def rest(self) -> None:
        """There is nothing new."""
        self._next = self.now() + self.every

    def at_once(self) -> None:
        """There may be more at once."""
        self._next = 0.0

    def is_over(self, why: str, pause: float) -> bool:
        """It does not answer, and is asked again after a pause; True once it has not for too long."""
        self.said = why
        self._away_since = self.now() if self._away_since is None else self._away_since
        if self.now() - self._away_since >= self.timeout:
            self._away_since = None
            return True
        self._next = self.now() + pause
        return False
