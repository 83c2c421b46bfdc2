"""The reasons for which the answer of a circuit cannot be made of its tables' rows piece by piece.

The answer that is made so has to be the one that all rows at once give, and a piece must not cost what all rows do.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import assert_never, cast

from penstock.circuit.operators import (
    Additive,
    AnyOperator,
    Arrived,
    Arriving,
    Bilinear,
    Circuit,
    Cleaned,
    Clocked,
    Constant,
    Counted,
    Iterated,
    Keyed,
    Linear,
    OfStep,
    Operator,
    Ranked,
    Recomputed,
    Sessions,
    Source,
)
from penstock.engine.installed import Installed
from penstock.plan.expressions import plan_reads_clock
from penstock.plan.nodes import AsofJoin, MatchRecognize

OfTable = Callable[[str], str | None]


def obstacle_of(installed: Installed, view: str, of_table: OfTable) -> str | None:
    """The first reason that an operator below a view gives, or one that is read; None if none does.

    `of_table` gives the reason of a relation, by its lower-case name.
    """
    found = (_obstacle(item, installed, of_table) for item in _below(installed.circuit, view))
    return next((reason for reason in found if reason is not None), None)


def _below(circuit: Circuit, view: str) -> list[Operator]:
    needed = circuit.needed([circuit.outputs[view]])
    return [item for item in circuit.operators if item.number in needed]


def _obstacle(operator: Operator, installed: Installed, of_table: OfTable) -> str | None:
    if not isinstance(operator, OfStep) and operator.number not in installed.native:
        return f"{operator.title} works on Spark"
    if plan_reads_clock(operator.node):
        return f"{operator.title} reads the clock"
    return _of_class(cast("AnyOperator", operator), of_table)


def _of_class(operator: AnyOperator, of_table: OfTable) -> str | None:
    match operator:
        case Source():
            return f"{operator.relation} is read as it comes" if operator.is_tail else of_table(operator.relation)
        case Constant() | Linear() | Additive() | Counted() | Bilinear() | Sessions() | Ranked():
            return None
        case Keyed(node=AsofJoin() | MatchRecognize()):
            return f"{operator.title} goes by the order of rows"
        case Keyed():
            return f"{operator.title} has no key" if operator.keyless else None
        case Clocked():
            return f"{operator.title} reads the clock"
        case Recomputed() | Iterated():
            return f"{operator.title} is computed whole"
        case Cleaned() | Arriving() | Arrived():
            return f"{operator.title} goes by the order of rows"
        case _:
            assert_never(operator)


def is_by_row(installed: Installed, number: int) -> bool:
    """True if an operator sees each row of a table by itself, so that it raises for one whatever else comes."""
    needed = installed.circuit.needed([number])
    return all(isinstance(item, Source | Linear) for item in installed.circuit.operators if item.number in needed)
