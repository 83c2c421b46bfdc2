"""Questions about waterlines: where they stand, where a step leaves them, and what moves them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from penstock.catalog.model import View
from penstock.steps.facts import WaterlineFact, facts_of, inferred_facts
from penstock.steps.intake.fold import Intake
from penstock.steps.intake.gates import ViewGate, view_lateness
from penstock.steps.intake.holding import Holding
from penstock.steps.intake.keyed_gate import KeyedGate
from penstock.steps.intake.lateness import TableLateness
from penstock.steps.intake.session_gate import SessionGate
from penstock.steps.lines import Lines
from penstock.steps.manifest import Advances, promised
from penstock.steps.state import State


def lines_after(
    state: State, clock: datetime | None = None, intakes: Sequence[Intake] = (), advances: Advances = ()
) -> Lines:
    """The waterlines now, or as they will be once a step with these intakes is committed."""
    found = state.tables.lateness(state.catalog.stored_tables())
    found |= {intake.table.name.lower(): (intake.lateness, intake.holding) for intake in intakes}
    for table, column, value in promised(advances):
        lateness, holding = found[table.name.lower()]
        found[table.name.lower()] = lateness.advanced(column, value), holding
    found |= {name: (lateness, Holding()) for name, _, lateness in _late_views(state)}
    gates = {name.lower(): gate for name, gate in state.engine.gates().items() if isinstance(gate, KeyedGate)}
    return Lines(found, clock or state.clock, {name: gate.known for name, gate in gates.items()})


def _late_views(state: State) -> list[tuple[str, View, TableLateness]]:
    """The views with LATENESS, and what their columns have seen."""
    present = state.engine.gates()
    found = []
    for name, view in state.catalog.views.items():
        if view.lateness:
            gate = present.get(name)
            known = gate.lateness if isinstance(gate, ViewGate | SessionGate) else view_lateness(view)
            found.append((name, view, known))
    return found


def waterline_facts(state: State) -> list[WaterlineFact]:
    """The facts about each LATENESS or WATERMARK column of a table or view."""
    found: list[WaterlineFact] = []
    for table in state.catalog.tables.values():
        memory = state.tables.memory(table)
        found += facts_of(table.name, memory.lateness, memory.holding, state.rejected)
    for _, view, lateness in _late_views(state):
        if any(item.sessions for item in view.lateness.values()):
            continue  # the numbers of sessions are nobody's column
        found += facts_of(view.name, lateness, Holding(), state.rejected)
    return found


def inferred_waterlines(state: State) -> list[WaterlineFact]:
    """The waterlines of the views' columns, as they follow from those of the tables."""
    return list(inferred_facts(state.catalog, state.line_reader, lines_after(state)))
