"""State by group whose changes can be added up: what a change contributes to each group, and what that makes of it.

For the groups that a change touches Δ = answer(state + contribution) − answer(state); the state is a row for each
group, of partial results (`circuit.partials`), or of how often a row is in each input.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import assert_never

from penstock.backends.api import Change
from penstock.backends.rules.rule import Rule
from penstock.plan.nodes import Aggregate, Distinct, SetKind, SetOperation


class AdditiveRule(Rule[Change]):
    """GROUP BY whose aggregates are partial results: a row for each group with rows, without keys one row always."""

    node: Aggregate

    def step(self, inputs: Sequence[Change | None], *, first: bool) -> Change | None:
        (change,) = inputs
        if not self.has_rows(change):
            if self.node.groups or not first:
                return None
            change = None
        return self.added(change, first=first)

    @abstractmethod
    def added(self, change: Change | None, *, first: bool) -> Change | None:
        """The state with what a change contributes; the change of the answers.

        None stands for the first step of an aggregate without groups over no rows.
        """


class CountedRule(Rule[Change]):
    """DISTINCT, INTERSECT and EXCEPT: a row's weight in the output follows from how often it is in the inputs."""

    def step(self, inputs: Sequence[Change | None], *, first: bool) -> Change | None:
        del first
        sides = [change if self.has_rows(change) else None for change in inputs]
        return self.counted(sides) if any(change is not None for change in sides) else None

    @abstractmethod
    def counted(self, sides: Sequence[Change | None]) -> Change | None:
        """The state with the changes of all sides, of which at least one is there; the change of the output."""


def multiplicity(node: Distinct | SetOperation, counts: Sequence[str]) -> str:
    """SQL for how often a row is in the output that is so often in the inputs: `counts` are BIGINTs without NULL."""
    match node:
        case Distinct():
            return _once(f"{counts[0]} > 0")
        case SetOperation(kind=SetKind.INTERSECT, all=True):
            return f"least({counts[0]}, {counts[1]})"
        case SetOperation(kind=SetKind.INTERSECT):
            return _once(f"{counts[0]} > 0 AND {counts[1]} > 0")
        case SetOperation(all=True):
            return f"greatest({counts[0]} - {counts[1]}, CAST(0 AS BIGINT))"
        case SetOperation():
            return _once(f"{counts[0]} > 0 AND {counts[1]} <= 0")
        case _:
            assert_never(node)


def _once(condition: str) -> str:
    return f"CASE WHEN {condition} THEN CAST(1 AS BIGINT) ELSE CAST(0 AS BIGINT) END"
