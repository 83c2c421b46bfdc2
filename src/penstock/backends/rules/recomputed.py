"""Queries without a key to go by: recomputed over all rows, and compared with the last answer (A5)."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

from penstock.backends.api import Change
from penstock.backends.rules.rule import Rule


class RecomputedRule(Rule[Change]):
    """Remembers its inputs and its last answer."""

    @abstractmethod
    def clock_has_moved(self) -> bool:
        """True if the step's clock is not that of the step before."""

    def wants_step(self) -> bool:
        return self.reads_clock and self.clock_has_moved()

    @property
    @abstractmethod
    def reads_clock(self) -> bool:
        """True if the answer may change by time alone."""

    def step(self, inputs: Sequence[Change | None], *, first: bool) -> Change | None:
        changes = self.all_met(inputs)
        if all(change is None for change in changes) and not first and not self.wants_step():
            return None
        self.remember_all(changes)
        return self.answered()

    @abstractmethod
    def answered(self) -> Change | None:
        """The answer over all that is remembered less the last one, in whose place it is proposed."""
