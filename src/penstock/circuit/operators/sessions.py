"""Windows of time by gaps: SESSION."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from penstock.circuit.forgetting import Expiry, sessions_expire
from penstock.circuit.operators.operator import Cost, Knowledge, Operator
from penstock.plan.nodes import Plan, Session


@dataclass(frozen=True)
class Sessions(Operator):
    """SESSION: a changed row touches the sessions of its key that it lies in or within a gap of, no others.

    It forgets rows by the end of their session or a column of the key.
    """

    usual: ClassVar[Cost] = Cost("all rows, with their sessions", "the sessions next to the change")

    @property
    def keeps(self) -> str:
        """The rows that its state has, in words."""
        return self.usual.state

    def forgets(self, plan: Plan, known: Knowledge) -> tuple[Expiry, ...]:
        """Sessions that are below a waterline."""
        return sessions_expire(plan, known.reader) if isinstance(plan, Session) else ()
