"""Where operators work: in the process or on Spark, and what of an operator keeps it from the process."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from penstock.catalog.model import Catalog
from penstock.circuit.operators import Circuit
from penstock.errors import Span
from penstock.plan.nodes import Plan

PROCESS, SPARK = "process", "spark"


@dataclass(frozen=True)
class Place:
    """Where one operator works: 'process' or 'spark'.

    `not_proven` says what keeps an operator on Spark that might work in the process, and `span` where that stands.
    """

    where: str = SPARK
    not_proven: str = ""
    span: Span | None = None


ON_SPARK, IN_PROCESS = Place(), Place(PROCESS)


@dataclass(frozen=True)
class Placed:
    """A circuit under an engine, with the places of its operators; what the step itself feeds has none.

    `on_spark` says why all of them are on Spark, whatever they are; it is empty where each is judged by itself.
    """

    circuit: Circuit
    engine: str
    on_spark: str = ""
    places: Mapping[int, Place] = field(default_factory=dict)


Placing = Callable[[Mapping[str, Plan], Catalog], Placed]
"""Makes the circuit of plans by their names, as an engine would have it at work."""
