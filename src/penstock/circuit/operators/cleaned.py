"""LATENESS of a view."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from penstock.circuit.operators.operator import Cost, Operator


@dataclass(frozen=True)
class Cleaned(Operator):
    """LATENESS of a view: late rows of its change are dropped right behind it."""

    view: str = ""

    usual: ClassVar[Cost] = Cost("a waterline for each column with LATENESS", "the change")
