"""VALUES, and queries handed to Spark that read no relation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from penstock.circuit.operators.operator import NO_STATE, Cost, Operator


@dataclass(frozen=True)
class Constant(Operator):
    """Rows that are there from the first step on and never change."""

    usual: ClassVar[Cost] = Cost(NO_STATE, "nothing after the first step")
