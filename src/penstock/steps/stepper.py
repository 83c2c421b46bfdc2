"""One step after the other: fold what came in, run the engine, write the log, and only then let anything change.

    propose (`steps.proposing`)  →  commit (`steps.committing`)  →  announce (`steps.announcing`)

Whatever fails before the manifest is there, Ctrl-C included, leaves no trace. What fails behind it leaves a state that
lacks a step which the log has: then the pipeline refuses everything from there on.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import Any

import pyarrow as pa

from penstock.catalog.model import Catalog, Table, View
from penstock.circuit.error_view import reads_error_view
from penstock.circuit.measured import is_measured
from penstock.circuit.reports import reports_of
from penstock.emit.policies import emission_of
from penstock.engine.engine import Engine
from penstock.engine.placing import check_native_lines, check_native_tables
from penstock.plan.nodes import Plan
from penstock.rewrite import rewrite, rewrite_views
from penstock.steps.announcing import (
    Keeper,
    Listener,
    Watcher,
    changes_of,
    emissions_of,
    step_done,
    table_changes,
    tell,
)
from penstock.steps.change import Change
from penstock.steps.committing import StateBehindLogError, commit
from penstock.steps.contents import Stored
from penstock.steps.differences import taken_back
from penstock.steps.facts import WaterlineFact
from penstock.steps.failures import translated
from penstock.steps.filling import Filling, Wanted, filling, obstacles
from penstock.steps.held import Held
from penstock.steps.intake.fold import Intake
from penstock.steps.intake.gates import late_rows, view_gate
from penstock.steps.intake.memory import TableMemory
from penstock.steps.interrupts import uninterrupted
from penstock.steps.lines import LinesNow
from penstock.steps.log import InputLog
from penstock.steps.manifest import Declaration
from penstock.steps.phases import Stopwatch
from penstock.steps.proposing import Proposal, StepInput, abandoned, leave_no_trace, propose
from penstock.steps.recorded import RecordedStep
from penstock.steps.rows.batch import RowReader
from penstock.steps.rows.rejected import Rejections
from penstock.steps.saved_positions import SavedPositions
from penstock.steps.setting_aside import propose_sparing
from penstock.steps.snapshots import Snapshots
from penstock.steps.state import State
from penstock.steps.tables import Incoming
from penstock.steps.targets import targets_of
from penstock.steps.told import as_told
from penstock.steps.waterlines import inferred_waterlines, lines_after, waterline_facts

Then = Callable[[dict[str, Change]], None]


@dataclass(frozen=True, slots=True)
class Installation:
    """A new catalog, and what is to be done for it.

    `typed` is the catalog in types that the engine carries. Of its views those `added` are maintained from the next
    step on; `removed` ones, and tables to be `forgotten` or `widened` by columns, are named in lower case. `ask` has
    Spark read the program, where it has not yet. Views that are `filled` take their places as they are.
    """

    catalog: Catalog
    typed: Catalog
    added: Sequence[str] = ()
    removed: Sequence[str] = ()
    forgotten: Sequence[str] = ()
    widened: Sequence[str] = ()
    ask: Callable[[], object] | None = None
    filled: Filling | None = None


def _reports(view: View) -> tuple[Plan, ...]:
    """The rows that a view does not take, since they are late for it; a view that shows another one reports none."""
    if view.plan is None or (view.showing is not None and view.owner is not None):
        return ()
    return tuple(rewrite(plan) for plan in reports_of(view.plan))


class Stepper:
    """A running pipeline: its views come and go by `install`, all else changes by `step`."""

    def __init__(self, engine: Engine, log: InputLog, retain: str = "all") -> None:
        self._state = State.first(engine, log, retain)
        self._broken: StateBehindLogError | None = None
        self._listeners: list[Listener] = []
        self._watchers: list[Watcher] = []
        self._keeper: Keeper | None = None
        self.filling: Filling | None = None  # the views that are being filled beside those at work
        self.seconds = 0.0  # that the last step has taken
        self.stored = Stored(self._state)
        # For what the engine may forget, and whether it is to measure.
        engine.lines = LinesNow(lambda: lines_after(self._state))
        engine.reported = late_rows
        engine.profiler.wanted = lambda: is_measured(self.catalog)

    # Questions

    @property
    def engine(self) -> Engine:
        """The circuits at work."""
        return self._state.engine

    @property
    def log(self) -> InputLog:
        """The input log."""
        return self._state.log

    @property
    def catalog(self) -> Catalog:
        """The catalog of all that is declared now."""
        return self._state.catalog

    @property
    def number(self) -> int:
        """The number of steps so far."""
        return self._state.number

    @property
    def clock(self) -> datetime | None:
        """The clock of the last step."""
        return self._state.clock

    @property
    def stopwatch(self) -> Stopwatch:
        """The clock that measures the phases of the next step."""
        return self._state.stopwatch

    @property
    def positions(self) -> SavedPositions:
        """The points between steps that have names."""
        return self._state.positions

    @property
    def next_timer(self) -> datetime | None:
        """The clock at which a step is due although nothing has come in; None if there is none."""
        found = (self._state.views.next_timer, self._state.tables.next_silence)
        return min((at for at in found if at is not None), default=None)

    @property
    def holds_rows(self) -> bool:
        """True if some table holds rows back, or an emission does."""
        return self._state.tables.holds_rows or self._state.views.waits

    @property
    def rejected(self) -> Mapping[tuple[str, str], int]:
        """The number of rows that went to `error_view`, by relation and message."""
        return self._state.rejected

    def has_finished(self, view: str) -> bool:
        """True if a standing query has shown all that it may."""
        return self._state.views.has_finished(view.lower())

    def has_rows(self, table: str) -> bool:
        """True if rows have ever come in for a table, named in lower case."""
        memory = self._state.tables.known(table)
        return memory is not None and bool(memory.received)

    def waterline_facts(self) -> list[WaterlineFact]:
        """The facts about each LATENESS or WATERMARK column of a table or view."""
        return waterline_facts(self._state)

    def inferred_facts(self) -> list[WaterlineFact]:
        """The waterlines of the views' columns, as they follow from those of the tables."""
        return inferred_waterlines(self._state)

    def preview(self, batches: Sequence[Incoming], clock: datetime) -> list[Intake]:
        """The effect that batches would have on their tables; DataError if they could not be committed."""
        return self._state.tables.fold(batches, clock, Rejections(), lambda _: None, step=self._state.number + 1)

    @property
    def is_intact(self) -> bool:
        """True if the state has all steps that the log has."""
        return self._broken is None

    def check_intact(self) -> None:
        """Refuse to go on from a state that lacks a step which the log has."""
        if self._broken is not None:
            raise self._broken

    # Changes

    def install(self, wanted: Installation) -> None:
        """Make a catalog the present one; if the engine refuses it, nothing has changed."""
        state, engine, typed = self._state, self.engine, wanted.typed
        emissions = {name.lower(): emission_of(typed.views[name.lower()], typed) for name in wanted.added}
        earlier = list(engine.installed)
        check_native_tables(typed)
        check_native_lines(typed, {name: emission.goes_by for name, emission in emissions.items()})
        self._widen(wanted)
        filled = () if wanted.filled is None else wanted.filled.names
        added = [name for name in wanted.added if name.lower() not in filled]
        if added:
            gate = partial(view_gate, clock=state.step_clock, catalog=typed)
            shared = self._shared(wanted)
            late = {view.name: found for name in added if (found := _reports(view := typed.views[name.lower()]))}
            engine.install(rewrite_views(typed), added, self.stored, gate, wanted.ask, shared=shared, reports=late)
        contents = {} if wanted.filled is None else wanted.filled.take_place()
        for name in reversed(wanted.removed):
            engine.remove(name, earlier)
            state.views.remove(name)
            if state.log.is_silent:
                state.differing.replace(name.lower())
        state.views.install(emissions, contents)
        for name in wanted.forgotten:
            state.tables.drop(name)
        state.catalog = wanted.catalog
        state.targets = targets_of(wanted.catalog)

    def obstacles(self, wanted: Wanted) -> dict[str, str]:
        """The views, in lower case, that cannot be filled beside those at work, with the reason."""
        return obstacles(self._state, wanted)

    def fill(self, wanted: Wanted) -> Filling | None:
        """Begin to fill views beside those at work, as far as that can be; None if it cannot."""
        self.filling = filling(self._state, wanted)
        return self.filling

    def stop_filling(self) -> None:
        """Leave nothing of what is being filled."""
        if self.filling is not None:
            self.filling.drop()
            self.filling = None

    def _widen(self, wanted: Installation) -> None:
        """Have tables remember their rows with more columns; what was remembered may have to come back."""
        added = self.log.added
        assert added is not None  # noqa: S101 - given with the state
        before: list[TableMemory] = []
        for name in wanted.widened:
            added.check(wanted.catalog.tables[name])
        for name in wanted.widened:
            before += self._state.tables.widen(wanted.catalog.tables[name], added)
        if self.engine.parting is None:
            for memory in before:
                memory.drop()

    def _shared(self, wanted: Installation) -> list[str]:
        """The views whose changes queries that begin to stand can take as they are, since their content is kept."""
        if not all(wanted.typed.views[name.lower()].is_hidden for name in wanted.added):
            return []
        made = {name for item in self.engine.installed for name in item.circuit.outputs} - set(wanted.removed)
        return [name for name in made if self._is_shared(wanted.typed.views.get(name), wanted.typed)]

    def _is_shared(self, view: View | None, catalog: Catalog) -> bool:
        if view is None or view.is_hidden or view.lateness or view.recursive:
            return False
        return self._state.views.keeps(view) and not reads_error_view(view.plan, catalog)

    def replace(
        self,
        wanted: Installation,
        earlier: Mapping[str, pa.Table],
        declared: Sequence[str],
        given: StepInput,
        then: Then | None = None,
    ) -> dict[str, Change]:
        """Make a catalog the present one and step with it: both happen, or nothing has changed.

        `earlier` are the answers of views, in lower case, whose place others take: the step shows how theirs differ.
        The log's step has the statements `declared`.
        """
        state, number = self._state, self.number
        held = Held.of(state)
        try:
            if wanted.filled is not None:
                self.filling = None  # in its place from here on, or nothing is left of it
            self.install(replace(wanted, forgotten=()))
            state.declared.statements += [Declaration(text, at=given.clock, deployed=True) for text in declared]
            state.earlier = {
                name: taken_back(self.engine, state.catalog.views[name], rows) for name, rows in earlier.items()
            }
            return self.step(given, then)
        finally:
            state.earlier = {}
            if self.number == number:
                held.restore()
                if wanted.filled is not None:
                    wanted.filled.drop()
            else:
                held.let_go()
                for name in wanted.forgotten:
                    state.tables.drop(name)

    def declare(self, session: Mapping[str, Any], found: Iterable[Declaration]) -> None:
        """Have the log know what has been declared, and how it is understood."""
        declared = replace(self._state.declared, session=session)
        declared.statements += found
        self._state.declared = declared
        self.log.declare(self.number, declared.to_json())

    @property
    def program(self) -> int:
        """The number of the program's statements that have been run, those that declare among them."""
        return self._state.declared.program

    def goes_on_at(self, place: int) -> None:
        """Have the next manifest say that so many of the program's statements have been run."""
        self._state.declared.program = place

    def read_by(self, reader: Callable[[Table], RowReader]) -> None:
        """Have the rows that standing statements write checked by these."""
        self._state.reader = reader

    def listen(self, listener: Listener) -> None:
        """Tell `listener` of each step that has happened."""
        self._listeners.append(listener)

    def watch(self, watcher: Watcher) -> None:
        """Tell `watcher` what standing queries show in each step that has happened, and which have ended with it."""
        self._watchers.append(watcher)

    def keep_by(self, keeper: Keeper) -> None:
        """Have `keeper` keep what outputs are given of each step, before it happens."""
        self._keeper = keeper
        self._state.whole = lambda: keeper.tables

    def maintain(self) -> None:
        """Merge what the last step has left to merge, and forget what is below the waterlines."""
        try:
            with self.stopwatch.of("merge"):
                self.engine.maintain()
                self._state.tables.maintain()
                self._state.views.maintain()
        except BaseException as error:
            raise translated(error, self.catalog) from error

    def _proposed(self, given: StepInput) -> Proposal:
        try:
            return propose_sparing(self._state, given)
        except BaseException:
            self.stopwatch.taken()  # they are no step's
            raise

    def _commit(self, proposal: Proposal) -> None:
        try:
            with self.stopwatch.of("commit"):
                commit(self._state, proposal)
        except BaseException as error:
            self.stopwatch.taken()
            if isinstance(error, StateBehindLogError):
                self._broken = error
            raise

    def keep_state(self, snapshots: Snapshots, more: Mapping[str, Any]) -> bool:
        """Write a snapshot of all that is remembered now, and `more`; False if that cannot be, or nothing is new."""
        return snapshots.take(self._state, more, self.maintain)

    def take_over(self, snapshots: Snapshots, wanted: Catalog) -> Mapping[str, Any] | None:
        """Go on from the last snapshot, if there is one to go on from; gives what was kept beside it."""
        return snapshots.restore(self._state, wanted)

    def declared_again(self, item: Declaration) -> None:
        """Know of a statement that stands already, and that no step has followed, if none has."""
        self._state.declared.statements.append(item)

    def again_of(self, found: RecordedStep) -> dict[str, Change]:
        """Make a step again that the log has; gives its changes as they were, and nobody is told of it."""
        self.maintain()
        proposal = propose(self._state, found.given(self._state))
        told = found.told
        self._state.differing.compare(self._state, proposal.shown.changes, told)
        commit(self._state, proposal)
        self.stopwatch.taken()
        shown = replace(proposal.shown, changes=as_told(self._state, proposal.shown.changes, told))
        return changes_of(self._state, replace(proposal, shown=shown))

    def step(self, given: StepInput, then: Then | None = None) -> dict[str, Change]:
        """One step; gives the change of every view that is not LOCAL, and of `error_view`.

        A tick that changes nothing is no step, and gives no changes. `then` is called with the changes before Ctrl-C
        is obeyed again. What a listener or `then` raises is raised once all have been told; the step has happened.
        """
        self.check_intact()
        started = time.perf_counter()
        self.maintain()
        proposal = self._proposed(given)
        if given.tick and proposal.changes_nothing(self._state.views.timers):
            leave_no_trace(self._state, proposal.result, proposal.staged)
            self.stopwatch.taken()
            return {}
        brought = self._brought(proposal)
        with uninterrupted() as hold:
            changes = changes_of(self._state, proposal)
            self._keep(proposal, changes)
            self._commit(proposal)
            if self._keeper is not None:
                self._keeper.committed()
            if self.filling is not None:
                self.filling.follow(brought)
            self.seconds = time.perf_counter() - started
            event = step_done(self._state, proposal, self.seconds)
            emissions = emissions_of(self._state, proposal)
            try:
                for watcher in self._watchers:
                    watcher(emissions, proposal.shown.finished)
                tell(self._listeners, event, changes)
            finally:
                hold.obey_the_second()
                if then is not None:
                    then(changes)
        return changes

    def _brought(self, proposal: Proposal) -> list[tuple[str, pa.Table]]:
        """The rows that a step brings to views that are being filled; where they cannot be had it leaves no trace."""
        if self.filling is None:
            return []
        try:
            return self.filling.changes(proposal.intakes)
        except BaseException as error:
            raise abandoned(self._state, error, proposal.result, proposal.staged) from error

    def _keep(self, proposal: Proposal, changes: Mapping[str, Change]) -> None:
        """Have what outputs are given kept; where that fails the step leaves no trace."""
        if self._keeper is None:
            return
        try:
            tables = table_changes(self._state, proposal, self._keeper.tables)
            self._keeper.keep({**changes, **tables})
        except BaseException as error:
            raise abandoned(self._state, error, proposal.result, proposal.staged) from error
