"""Where changes come in: tables, and views that another circuit maintains."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from penstock.circuit.operators.operator import NO_STATE, Cost, Operator
from penstock.plan.nodes import Scan


@dataclass(frozen=True)
class Source(Operator):
    """The change of a table, or of a view that another circuit maintains.

    The inputs of `error_view` are the `Cleaned` operators whose late rows it shows in the same step.
    """

    relation: str = ""

    @property
    def is_tail(self) -> bool:
        """True if only what comes from now on is read, and not what there is."""
        return isinstance(self.node, Scan) and self.node.tail

    @property
    def since(self) -> int | None:
        """The step after which a tail begins, if that is not now."""
        return self.node.since if isinstance(self.node, Scan) else None

    usual: ClassVar[Cost] = Cost(NO_STATE, "nothing")
