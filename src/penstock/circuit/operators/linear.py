"""Projections, filters, UNION ALL and generators: what treats every row by itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from penstock.circuit.operators.operator import NO_STATE, Cost, Operator


@dataclass(frozen=True)
class Linear(Operator):
    """f(A + B) = f(A) + f(B): applied to the change alone."""

    usual: ClassVar[Cost] = Cost(NO_STATE, "the change")
