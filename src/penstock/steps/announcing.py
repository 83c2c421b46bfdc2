"""The news of a step that has happened: the change of each view, and the event."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Protocol

import pyarrow as pa

from penstock.catalog.model import ERROR_VIEW, Table, View
from penstock.catalog.reserved import VERSIONS
from penstock.steps.change import Change
from penstock.steps.events import StepDone
from penstock.steps.facts import measured_of, sizes_of, spilled_of
from penstock.steps.proposing import Proposal
from penstock.steps.rows.rejected import LATE, LATE_VERSION
from penstock.steps.state import State
from penstock.steps.written import change_of

Listener = Callable[[StepDone, Mapping[str, Change]], None]
Watcher = Callable[[Mapping[str, Change], Sequence[str]], None]


class Keeper(Protocol):
    """Keeps what a step gives to outputs, before it happens: what it raises refuses the step."""

    @property
    def tables(self) -> Collection[str]:
        """The tables whose changes it wants too, in lower case."""

    def keep(self, changes: Mapping[str, Change]) -> None:
        """A step is about to happen."""

    def committed(self) -> None:
        """It has happened."""


def tell(listeners: Iterable[Listener], event: StepDone, changes: Mapping[str, Change]) -> None:
    """Tell each listener of a step, whatever the others raise; then raise the first of that: the step has happened."""
    raised: list[BaseException] = []
    for listener in list(listeners):
        try:
            listener(event, changes)
        except BaseException as error:  # noqa: BLE001 - raised below
            raised.append(error)
    if raised:
        raise raised[0]


def changes_of(state: State, proposal: Proposal) -> dict[str, Change]:
    """The changes that the step shows of every view that is not LOCAL, and of `error_view`."""
    step, clock = proposal.number, proposal.given.clock
    found = {
        view.name: Change(view.name, names, step, clock, proposal.shown.changes.get(name))
        for view, name, names in _outputs(state)
    }
    rejections = proposal.given.rejections
    delta = state.engine.change_of(ERROR_VIEW, rejections.change()) if rejections.rows else None
    return {**found, ERROR_VIEW.name: Change(ERROR_VIEW.name, _names(ERROR_VIEW), step, clock, delta)}


def table_changes(state: State, proposal: Proposal, tables: Collection[str]) -> dict[str, Change]:
    """The changes of tables, which are named in lower case, that the step makes."""
    step, clock = proposal.number, proposal.given.clock
    found: dict[str, Change] = {}
    for intake in proposal.intakes:
        if intake.table.name.lower() in tables and not intake.is_empty:
            names = tuple(column.name for column in intake.table.shown)
            delta = change_of(state, intake)
            delta = delta if len(names) == len(intake.table.columns) else delta.selected(names)
            found[intake.table.name] = Change(intake.table.name, names, step, clock, delta)
    return found


def _outputs(state: State) -> Iterator[tuple[View, str, tuple[str, ...]]]:
    """The views that are outputs, each with who shows it, in lower case, and the names of what is shown."""
    views = state.catalog.views.values()
    showing = {view.owner: view for view in views if view.owner and view.showing and not view.writes}
    for name, view in state.catalog.views.items():
        shown = showing.get(name)
        if shown is not None and shown.showing is not None:
            yield view, shown.name.lower(), shown.showing.shown_names
        elif view.is_output:
            yield view, name, _names(view)


def emissions_of(state: State, proposal: Proposal) -> dict[str, Change]:
    """The rows that standing queries show in the step, by the query's name; those that show nothing are left out."""
    step, clock = proposal.number, proposal.given.clock
    return {
        view.name: Change(view.name, view.showing.shown_names, step, clock, shown)
        for name, view in state.catalog.views.items()
        if view.showing is not None and view.owner is None and (shown := proposal.shown.changes.get(name)) is not None
    }


def step_done(state: State, proposal: Proposal, seconds: float) -> StepDone:
    """The event of the step."""
    rejected = proposal.given.rejections.rows
    intakes = [item for item in proposal.intakes if not item.table.name.startswith(VERSIONS)]
    names = {name: view.name for view, name, _ in _outputs(state)}
    return StepDone(
        proposal.number,
        proposal.given.clock,
        seconds,
        {item.table.name: item.received for item in intakes},
        {names[name]: delta.count() for name, delta in proposal.shown.changes.items() if name in names},
        dict(Counter(row.relation for row in rejected)),
        sizes_of(state.engine),
        measured_of(state.engine, proposal.number, seconds),
        spilled_of(state.engine),
        dict(Counter(row.relation for row in rejected if row.message in (LATE, LATE_VERSION))),
        {item.table.name: item.change.nbytes for item in intakes if isinstance(item.change, pa.Table)},
        state.stopwatch.taken(),
    )


def _names(relation: Table | View) -> tuple[str, ...]:
    return tuple(column.name for column in relation.columns)
