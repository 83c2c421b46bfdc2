"""GROUP BY with partial results."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from penstock.circuit.buckets import BUCKET_TITLE, is_by_bucket
from penstock.circuit.forgetting import Expiry, groups_expire
from penstock.circuit.operators.operator import Cost, Knowledge, Operator
from penstock.circuit.partials import Partials
from penstock.plan.nodes import Plan


@dataclass(frozen=True)
class Additive(Operator):
    """A GROUP BY whose aggregates are kept as partial results that can be added up.

    It forgets groups by a column of the group, or one that the group determines (`closing`).
    """

    partials: Partials
    append_only: bool = False

    usual: ClassVar[Cost] = Cost(
        "partial results, one row for each group", "the change, and the groups that it touches"
    )

    @property
    def keeps(self) -> str:
        """The rows that its state has, in words."""
        return f"partial results, one row for each {BUCKET_TITLE if is_by_bucket(self.plan) else 'group'}"

    def forgets(self, plan: Plan, known: Knowledge) -> tuple[Expiry, ...]:
        """Groups that are below a waterline."""
        return groups_expire(plan, known.reader)
