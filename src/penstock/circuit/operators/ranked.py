"""Top-K without a key."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from penstock.circuit.forgetting import Expiry, best_expire
from penstock.circuit.operators.operator import Cost, Knowledge, Operator
from penstock.plan.nodes import Plan, TopK


@dataclass(frozen=True)
class Ranked(Operator):
    """ORDER BY … LIMIT without a key: keeps more of the best rows than it shows.

    From an append-only input nothing but the shown rows is kept; else it forgets rows that cannot be deleted any
    more, but for the best of them.
    """

    append_only: bool = False

    usual: ClassVar[Cost] = Cost("the input, and its best rows", "the change; all rows when the best run out")

    @property
    def keeps(self) -> str:
        """The rows that its state has, in words."""
        return "all rows"

    def forgets(self, plan: Plan, known: Knowledge) -> tuple[Expiry, ...]:
        """Rows behind the best of those that cannot be deleted any more."""
        if self.append_only or not isinstance(plan, TopK):
            return ()
        return best_expire(plan, known.reader, known.catalog)
