"""Filters and projections that read the step's clock."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from penstock.circuit.clock import clock_expires
from penstock.circuit.forgetting import Expiry
from penstock.circuit.operators.operator import Cost, Knowledge, Operator
from penstock.plan.nodes import Plan


@dataclass(frozen=True)
class Clocked(Operator):
    """A filter or projection that reads the step's clock; it forgets rows that the clock has left behind for ever."""

    usual: ClassVar[Cost] = Cost("the input", "the change; all rows when the clock moves")

    @property
    def title(self) -> str:
        """The name that people know it by."""
        return "Clock filter"

    @property
    def keeps(self) -> str:
        """The rows that its state has, in words."""
        return "the rows that the clock can still reach" if self.expiries else "all rows"

    def forgets(self, plan: Plan, known: Knowledge) -> tuple[Expiry, ...]:
        """Rows that the filter will never let pass again."""
        del plan
        return clock_expires(self.node, known.reader)
