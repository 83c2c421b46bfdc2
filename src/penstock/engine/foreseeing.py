"""Where the operators of a program would work, told before any of them does: without a JVM, and without DuckDB."""

from __future__ import annotations

from collections.abc import Mapping

from penstock.catalog.model import Catalog
from penstock.catalog.settings import engine_of, why_on_spark
from penstock.circuit.build import Typing, build_circuit
from penstock.circuit.narrowing import narrowed
from penstock.circuit.operators import Circuit, OfStep, Source
from penstock.circuit.places import IN_PROCESS, ON_SPARK, Placed
from penstock.plan.nodes import Plan


def foreseen(plans: Mapping[str, Plan], catalog: Catalog, *, local: bool = True) -> Placed:
    """The circuit that would maintain these plans, and where each operator would work."""
    engine, why = engine_of(catalog.settings), why_on_spark(catalog.in_effect, local=local)
    if why:
        circuit = build_circuit(plans, catalog)
        return Placed(circuit, engine, why, dict.fromkeys(_placed_numbers(circuit), ON_SPARK))
    return _judged(plans, catalog, engine)


def _judged(plans: Mapping[str, Plan], catalog: Catalog, engine: str) -> Placed:
    from penstock.backends.native.sketch import Sketch  # noqa: PLC0415 - 100 ms that a program on Spark need not wait
    from penstock.engine.placing import placed, table_on_spark  # noqa: PLC0415 - 100 ms that a program on Spark need not wait
    from penstock.engine.typed import ProvenTyping  # noqa: PLC0415 - 100 ms that a program on Spark need not wait

    circuit = build_circuit(plans, catalog, ProvenTyping(catalog, Typing()), bucketed=False)
    _, reasons = placed(Sketch(), narrowed(circuit))
    places = {number: reasons.get(number, IN_PROCESS) for number in _placed_numbers(circuit)}
    for operator in circuit.operators:
        table = catalog.table(operator.relation) if isinstance(operator, Source) else None
        place = None if table is None else table_on_spark(table)
        if place is not None:
            places[operator.number] = place
    return Placed(circuit, engine, places=places)


def _placed_numbers(circuit: Circuit) -> list[int]:
    """The operators that have a place; the step itself feeds the others."""
    return [item.number for item in circuit.operators if not isinstance(item, OfStep)]
