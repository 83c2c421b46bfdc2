"""Queries without a key to go by."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from penstock.circuit.operators.operator import Cost, Operator


@dataclass(frozen=True)
class Recomputed(Operator):
    """A query without a key to go by: recomputed and compared (A5)."""

    uses_clock: bool = False

    usual: ClassVar[Cost] = Cost("the inputs and the last answer", "everything")

    @property
    def title(self) -> str:
        """The name that people know it by."""
        return "Recomputed query"

    @property
    def keeps(self) -> str:
        """The rows that its state has, in words."""
        return "all rows of its inputs, and its last answer"
