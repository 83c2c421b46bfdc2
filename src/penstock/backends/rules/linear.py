"""Linear operators: the change of the output is the operator applied to the change of the input, Δf(A) = f(ΔA).

A chain that reads the clock is linear while time stands still. When it has moved, what the chain says of all that is
remembered has moved too: Δ = f'(ΔA) ∪ f'(A) − f(A), where f' is the chain as of now.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

from penstock.backends.api import Change
from penstock.backends.rules.rule import Rule


class ConstantRule(Rule[Change]):
    """Rows of a VALUES: all of them in the first step, nothing afterwards."""

    def step(self, inputs: Sequence[Change | None], *, first: bool) -> Change | None:
        del inputs
        return self.rows() if first else None

    @abstractmethod
    def rows(self) -> Change | None:
        """The rows; None if there are none."""


class LinearRule(Rule[Change]):
    """A chain of filters, projections, unions and generators, which remembers nothing."""

    def step(self, inputs: Sequence[Change | None], *, first: bool) -> Change | None:
        del first
        return self.applied(inputs) if any(map(self.has_rows, inputs)) else None

    @abstractmethod
    def applied(self, changes: Sequence[Change | None]) -> Change:
        """The chain over changes, of which at least one is there."""


class ClockedRule(Rule[Change]):
    """A chain that reads the clock, and so remembers its inputs."""

    @abstractmethod
    def clock_has_moved(self) -> bool:
        """True if the step's clock is not that of the step before."""

    def wants_step(self) -> bool:
        return self.clock_has_moved() and self.remembers_any()

    @abstractmethod
    def remembers_any(self) -> bool:
        """True if anything is remembered of any input."""

    def step(self, inputs: Sequence[Change | None], *, first: bool) -> Change | None:
        del first
        changes = [change if self.has_rows(change) else None for change in inputs]
        found = self.moved(changes) if self.wants_step() else self.unmoved(changes)
        self.remember_all(self.all_met(changes))
        return found

    @abstractmethod
    def unmoved(self, changes: Sequence[Change | None]) -> Change | None:
        """The chain over changes; None if none is there."""

    @abstractmethod
    def moved(self, changes: Sequence[Change | None]) -> Change | None:
        """The same, and what the chain says now of all that is remembered, less what it said."""
