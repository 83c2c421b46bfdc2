"""Operators that work key by key: Δ = f(new rows of the touched keys) − f(their old rows).

The old and the new rows of the touched keys go through the operator in one pass, told apart by `__version`, which is
one more key of the operator; what comes out for both alike cancels.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

from penstock.backends.api import Change
from penstock.backends.rules.rule import Rule
from penstock.plan.nodes import Aggregate, Plan


class KeyedRule(Rule[Change]):
    """Any plan node that never lets rows of two keys meet."""

    @property
    @abstractmethod
    def node(self) -> Plan:
        """The node that works key by key."""

    def step(self, inputs: Sequence[Change | None], *, first: bool) -> Change | None:
        changes = self.all_met(inputs)
        if all(change is None for change in changes) and not (first and self._answers_nothing()):
            return None
        found = self.difference(changes, first=first)
        self.remember_all(changes)
        return found

    def _answers_nothing(self) -> bool:
        """True if it has an answer over no rows at all: an aggregate without groups."""
        return isinstance(self.node, Aggregate) and not self.node.groups

    @abstractmethod
    def difference(self, changes: Sequence[Change | None], *, first: bool) -> Change | None:
        """The answers of the touched keys with the changes, less those without them, of which the first step has none.

        What is remembered does not have the changes yet.
        """
