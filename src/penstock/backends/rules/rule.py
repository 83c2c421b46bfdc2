"""The little that every rule asks of its backend.

    has_rows     whether a change says anything, as far as that is known without evaluating it
    met          a change of an input as it meets what is remembered of that input
    remember     what is remembered of an input, with a change of it, if the step is committed
    remembers    whether anything is, the step's own changes included

What a step has remembered is only proposed until `commit`, as `Runner` says.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

from penstock.backends.api import Change, Runner


class Rule(Runner[Change]):
    """An operator at work, of whichever backend; inputs are told by their places."""

    def has_rows(self, change: Change | None) -> bool:
        """True unless a change is known to have no rows."""
        return change is not None

    @abstractmethod
    def met(self, place: int, change: Change | None) -> Change | None:
        """The change of an input as it meets what is remembered; None if it has no rows."""

    @abstractmethod
    def remember(self, place: int, change: Change) -> None:
        """Have what is remembered of an input hold such a change too, if the step is committed.

        It is added to what the step has proposed before: a step is committed or discarded before the next.
        """

    @abstractmethod
    def remembers(self, place: int) -> bool:
        """True if there is anything of an input, the changes of this step included."""

    def all_met(self, inputs: Sequence[Change | None]) -> list[Change | None]:
        """The changes of all inputs as they meet what is remembered."""
        return [self.met(place, change) for place, change in enumerate(inputs)]

    def remember_all(self, met: Sequence[Change | None]) -> None:
        """Have what is remembered hold the changes that there are."""
        for place, change in enumerate(met):
            if change is not None:
                self.remember(place, change)
