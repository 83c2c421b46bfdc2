"""The rows that a stream's rows gave when they came."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from penstock.circuit.operators.operator import Cost, Operator


@dataclass(frozen=True)
class Arrived(Operator):
    """The whole content of its input in each step, never taken back."""

    usual: ClassVar[Cost] = Cost("the rows of the last step", "the rows of this step and of the last")
