"""`SET unbounded_state = 'reject'`: a view whose state would grow as long as rows come is refused (D7)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from penstock.analysis.growth import Growth
from penstock.catalog.model import Catalog, View
from penstock.catalog.settings import REJECT, UNBOUNDED_STATE, WARN
from penstock.circuit.boundedness import StateFact, state_facts
from penstock.circuit.build import build_circuit
from penstock.errors import Diagnostic, SqlError
from penstock.rewrite import rewrite_views


def demand_checks(catalog: Catalog) -> Iterator[Callable[[], object]]:
    """One check for what the setting asks of all views."""
    yield partial(refuse_unbounded, catalog)


def refuse_unbounded(catalog: Catalog) -> None:
    """SqlError for each operator whose state no waterline bounds, at the first view that has it, if SET asks so."""
    if catalog.settings.get(UNBOUNDED_STATE, WARN).strip().lower() != REJECT:
        return
    rewritten = rewrite_views(catalog)
    plans = {name: view.plan for name, view in rewritten.views.items() if view.plan is not None}
    circuit = build_circuit(plans, rewritten)
    told: set[int] = set()
    found: list[Diagnostic] = []
    for name in plans:
        own = circuit.reached(circuit.outputs[name], told)
        facts = state_facts((circuit.operators[number] for number in own), rewritten)
        found += [_unbounded(catalog.views[name], fact) for fact in facts if fact.growth is Growth.UNBOUNDED]
        told |= own
    if found:
        raise SqlError(found)


def _unbounded(view: View, fact: StateFact) -> Diagnostic:
    message = f"the state of view {view.name} is not bounded: {fact.operator} keeps {fact.keeps}; {fact.because}"
    hint = fact.fix or f"SET {UNBOUNDED_STATE} = '{WARN}', or a predicate on time"
    return Diagnostic("UNBOUNDED_STATE", message, fact.span or view.span, hint=hint)
