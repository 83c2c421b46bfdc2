"""Recursive views."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from penstock.circuit.operators.circuit import Circuit
from penstock.circuit.operators.keyed import Keyed
from penstock.circuit.operators.operator import Cost, Operator
from penstock.errors import Span

_EVERY_ROUND = Cost("the inputs and the last answer", "everything, in every round")


@dataclass(frozen=True)
class Rounds:
    """A recursion by change: its bodies, with the round of each row, and what finds each row's first round.

    The sources of `circuit` are the operator's inputs (`#<number>`) and the recursive views by their lower-case
    names. `firsts` has an operator for each view, in their order; none where every round counts (UNION ALL).
    """

    circuit: Circuit
    firsts: tuple[Keyed, ...]


@dataclass(frozen=True)
class Iterated(Operator):
    """The least fixed point of recursive views.

    `rounds` maintains it by change, round by round (penstock.circuit.rounds). Without, it is recomputed: `reason` says
    why, and `place` where.
    """

    rounds: Rounds | None = None
    reason: str = ""
    place: Span | None = None
    uses_clock: bool = False

    usual: ClassVar[Cost] = Cost(
        "the inputs, and how often each round gives each row",
        "the change, and the rows that it touches in each round",
    )

    @property
    def cost(self) -> Cost:
        """That of its class, or of recomputing it."""
        return _EVERY_ROUND if self.rounds is None else self.usual

    @property
    def title(self) -> str:
        """The name that people know it by."""
        return "Recursion"

    @property
    def keeps(self) -> str:
        """The rows that its state has, in words."""
        return "all rows of its inputs, and of its rounds"
