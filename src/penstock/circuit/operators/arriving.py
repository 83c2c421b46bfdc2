"""The rows of a stream in the step in which they come, and what came of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from penstock.circuit.operators.operator import Cost, Operator


@dataclass(frozen=True)
class Arriving(Operator):
    """The change of a stream, taken back in the next step."""

    usual: ClassVar[Cost] = Cost("the rows of the last step", "the rows of this step and of the last")
