"""DISTINCT, INTERSECT and EXCEPT."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from penstock.circuit.forgetting import Expiry, groups_expire
from penstock.circuit.operators.operator import Cost, Knowledge, Operator
from penstock.plan.nodes import Plan, SetOperation


@dataclass(frozen=True)
class Counted(Operator):
    """DISTINCT, INTERSECT, EXCEPT: the weight of an output row follows from its weights in the inputs.

    It forgets rows by any of their columns.
    """

    usual: ClassVar[Cost] = Cost("how often each row is there", "the change, and the rows that it touches")

    @property
    def keeps(self) -> str:
        """The rows that its state has, in words."""
        sides = " on each side" if isinstance(self.node, SetOperation) else ""
        return f"each different row, with how often it is there{sides}"

    def forgets(self, plan: Plan, known: Knowledge) -> tuple[Expiry, ...]:
        """Rows that are below a waterline."""
        return groups_expire(plan, known.reader)
