"""Inner and cross joins: Δ(A⋈B) = ΔA⋈B' ∪ A⋈ΔB, where B' is B after its change."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

from penstock.backends.api import Change
from penstock.backends.rules.rule import Rule

LEFT, RIGHT = 0, 1


class JoinRule(Rule[Change]):
    """A join that remembers both inputs."""

    def step(self, inputs: Sequence[Change | None], *, first: bool) -> Change | None:
        del first
        left, right = self.all_met(inputs)
        old_left = self.remembers(LEFT)
        if right is not None:
            self.remember(RIGHT, right)
        found = self.matches(
            left if self.remembers(RIGHT) else None,
            right if old_left else None,
        )
        if left is not None:
            self.remember(LEFT, left)
        return found

    @abstractmethod
    def matches(self, left: Change | None, right: Change | None) -> Change | None:
        """The left change joined with what is remembered of the right, and that of the left with the right change.

        None if neither is there, or there are no matches.
        """
