"""Inner and cross joins."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from penstock.circuit.forgetting import Expiry, sides_expire
from penstock.circuit.operators.operator import Cost, Knowledge, Operator
from penstock.plan.nodes import Join, Plan

KEPT_OF_BOTH_SIDES = "the rows of both sides, by the columns compared"
_EACH_WITH_EACH = Cost("both inputs", "the change, and all rows of the other side")


@dataclass(frozen=True)
class Bilinear(Operator):
    """An inner or cross join: Δ(A⋈B) = ΔA⋈B' ∪ A⋈ΔB; `append_only` says of each input that nothing is retracted.

    It forgets rows of a side by a column that later rows of the other side are bound to exceed, and all of a side whose
    other side never changes.
    """

    append_only: tuple[bool, ...]

    usual: ClassVar[Cost] = Cost("both inputs, by join key", "the change, and the rows that it meets on the other side")

    @property
    def cost(self) -> Cost:
        """That of its class, or of meeting each row with each."""
        return _EACH_WITH_EACH if isinstance(self.node, Join) and not self.node.keys else self.usual

    @property
    def keeps(self) -> str:
        """The rows that its state has, in words."""
        return KEPT_OF_BOTH_SIDES

    def forgets(self, plan: Plan, known: Knowledge) -> tuple[Expiry, ...]:
        """Rows of a side that no later row of the other can match."""
        return sides_expire(plan, known.reader) if isinstance(plan, Join) else ()
