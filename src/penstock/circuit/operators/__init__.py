"""The parts of a circuit: operators as descriptions, each with its algebraic class.

A pass asks the class, never the name. `node` is the plan node (or, for `Linear`, the chain of nodes) that the
operator maintains, in which every input operator is read by a `Scan` of `#<number>`. What is known of a class stands
on it: what it costs (`usual`), what it keeps, what it may forget, what people call it.

| module     | what is in it                                                                            |
| ---------- | ---------------------------------------------------------------------------------------- |
| operator   | the base of all operators, and what each has to say of itself                            |
| circuit    | a circuit: operators that read one another                                               |
| source     | `Source`: the change of a table                                                          |
| constant   | `Constant`: rows that never change                                                       |
| cleaned    | `Cleaned`: a view without its late rows                                                  |
| arriving   | `Arriving`: the rows of a stream in the step in which they come, and then gone            |
| arrived    | `Arrived`: what came of them, as it was then; the rows of this step and of the last      |
| linear     | `Linear`: projection, filter, UNION ALL, generators; the change alone                    |
| additive   | `Additive`: GROUP BY with partial results; the change and the groups that it touches     |
| counted    | `Counted`: DISTINCT, INTERSECT, EXCEPT; the change and the rows that it touches          |
| bilinear   | `Bilinear`: inner and cross join; the change, probed against the other side              |
| sessions   | `Sessions`: SESSION; all rows of the sessions next to the change                         |
| keyed      | `Keyed`: outer joins, windows, Top-K, aggregates; all rows of the keys that are touched  |
| ranked     | `Ranked`: ORDER BY … LIMIT; the change, and all rows when the best run out               |
| clocked    | `Clocked`: filters on the clock; the change, and all rows when the clock moves           |
| recomputed | `Recomputed`: a query without a key to go by; everything                                 |
| iterated   | `Iterated`: recursion; the change, and the rows that it touches, round by round          |
"""

from __future__ import annotations

from typing import get_args

from penstock.circuit.operators.additive import Additive
from penstock.circuit.operators.arrived import Arrived
from penstock.circuit.operators.arriving import Arriving
from penstock.circuit.operators.bilinear import Bilinear
from penstock.circuit.operators.circuit import Circuit, Report, leaf
from penstock.circuit.operators.cleaned import Cleaned
from penstock.circuit.operators.clocked import Clocked
from penstock.circuit.operators.constant import Constant
from penstock.circuit.operators.counted import Counted
from penstock.circuit.operators.iterated import Iterated, Rounds
from penstock.circuit.operators.keyed import Keyed
from penstock.circuit.operators.linear import Linear
from penstock.circuit.operators.operator import Cost, Knowledge, Operator
from penstock.circuit.operators.ranked import Ranked
from penstock.circuit.operators.recomputed import Recomputed
from penstock.circuit.operators.sessions import Sessions
from penstock.circuit.operators.source import Source

__all__ = [
    "OPERATORS",
    "Additive",
    "AnyOperator",
    "Arrived",
    "Arriving",
    "Bilinear",
    "Circuit",
    "Cleaned",
    "Clocked",
    "Constant",
    "Cost",
    "Counted",
    "Iterated",
    "Keyed",
    "Knowledge",
    "Linear",
    "OfStep",
    "Operator",
    "Ranked",
    "Recomputed",
    "Report",
    "Rounds",
    "Sessions",
    "Source",
    "leaf",
    "rank_of",
]

# All classes, from the cheapest step to the dearest; who tells them apart does so by `match`, to the end.
AnyOperator = (
    Source
    | Constant
    | Cleaned
    | Arriving
    | Arrived
    | Linear
    | Additive
    | Counted
    | Bilinear
    | Sessions
    | Keyed
    | Ranked
    | Clocked
    | Recomputed
    | Iterated
)
# Those that have no place: the step itself has them work.
OfStep = Source | Cleaned | Arriving | Arrived
OPERATORS: tuple[type[Operator], ...] = get_args(AnyOperator)


def rank_of(operator: Operator) -> int:
    """The place of an operator among all others, the dearer a step of it the higher."""
    keyless = isinstance(operator, Keyed) and operator.keyless
    return len(OPERATORS) if keyless else OPERATORS.index(type(operator))
