"""SESSION: a change recomputes the sessions next to it, and leaves the others of its key alone.

    a row at t touches a session [start, end) of its key if   start < t + gap   and   t < end

What a row joins, or leaves behind, are the sessions that it touches, and those that touch each other only through rows
of the same change: two sessions that were there before are a gap apart. So the touched sessions and the change hold
all that can merge or split, and Δ is their rows with their sessions now, less the same as they were.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

from penstock.backends.api import Change
from penstock.backends.rules.rule import Rule


class SessionsRule(Rule[Change]):
    """Remembers its own output: each row with the start and the end of its session."""

    def step(self, inputs: Sequence[Change | None], *, first: bool) -> Change | None:
        del first
        change = self.met(0, inputs[0])
        found = None if change is None else self.moved(change)
        if found is None:
            return None
        self.remember(0, found)
        return self.shown(found)

    @abstractmethod
    def moved(self, change: Change) -> Change | None:
        """The change of the output, as it is remembered; None if it has no rows."""

    def shown(self, found: Change) -> Change:
        """The same for readers."""
        return found
