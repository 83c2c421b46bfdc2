"""One step after the other: fold what came in, run the engine, write the log, and only then let anything change.

    batches → intake (late rows aside) → engine.step → views settled → log staged → manifest, engine commit, memory

Whatever fails before the manifest is there, Ctrl-C included, leaves no trace. What fails behind it leaves a state that
lacks a step which the log has: then the pipeline refuses everything from there on.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from penstock.catalog.model import ERROR_VIEW, Catalog, Table, View
from penstock.circuit.measured import is_measured
from penstock.errors import DataError, Diagnostic, InternalError
from penstock.spark.change import consolidated
from penstock.steps.change import Change
from penstock.steps.events import StepDone
from penstock.steps.facts import WaterlineFact, facts_of, inferred_facts, measured_of, sizes_of
from penstock.steps.failures import translated
from penstock.steps.final import FinalOutput
from penstock.steps.intake.bulk import FrameBatch, fold_frame
from penstock.steps.intake.fold import Intake, Judge, fold_keyed, fold_rows
from penstock.steps.intake.gates import ViewGate, error_rows, view_lateness
from penstock.steps.intake.holding import Holding, declared_holding
from penstock.steps.intake.lateness import declared_lateness
from penstock.steps.intake.memory import TableMemory
from penstock.steps.intake.store import KeyStore, RowCounts
from penstock.steps.interrupts import uninterrupted
from penstock.steps.lines import LineReader, Lines
from penstock.steps.log import InputLog, Staged
from penstock.steps.manifest import Advances, Declared, step_facts
from penstock.steps.retained import Retained
from penstock.steps.rows.batch import Batch, concatenated
from penstock.steps.rows.columns import python_rows
from penstock.steps.rows.exchange import as_delta
from penstock.steps.rows.rejected import Rejections, counts

if TYPE_CHECKING:
    from penstock.spark.change import Delta
    from penstock.spark.engine import Engine, StepResult

Incoming = Batch | FrameBatch
_THREADS = 2
_NOTHING: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True)
class _Proposal:
    """A step that has been evaluated and may now happen."""

    number: int
    clock: datetime
    intakes: Sequence[Intake]
    rejections: Rejections
    advances: Advances
    result: StepResult
    views: Mapping[str, Delta]
    shown: Mapping[str, Delta]
    finals: Mapping[str, FinalOutput]
    staged: Staged


@dataclass
class Stepper:
    """The state of a running pipeline between steps."""

    engine: Engine
    log: InputLog
    catalog: Catalog
    retain: str = "all"
    number: int = 0
    clock: datetime | None = None
    memories: dict[str, TableMemory] = field(default_factory=dict)
    retained: dict[str, Retained] = field(default_factory=dict)
    fresh: set[str] = field(default_factory=set)
    rejected: dict[tuple[str, str], int] = field(default_factory=dict)
    finals: dict[str, FinalOutput] = field(default_factory=dict)
    declared: Declared = field(default_factory=Declared)
    broken: InternalError | None = None
    _stepping: datetime | None = None
    listeners: list[Callable[[StepDone, Mapping[str, Change]], None]] = field(default_factory=list)

    @cached_property
    def line_reader(self) -> LineReader:
        """What evaluates inferred waterlines."""
        return LineReader(self.engine.workspace)

    def memory(self, table: Table) -> TableMemory:
        """What is remembered of a table."""
        name = table.name.lower()
        if name not in self.memories:
            store = KeyStore(self.engine.workspace, table) if table.key else None
            self.memories[name] = TableMemory(table, declared_lateness(table), store, holding=declared_holding(table))
        return self.memories[name]

    def step(
        self,
        batches: Sequence[Incoming],
        clock: datetime,
        rejections: Rejections,
        advances: Advances = (),
        *,
        ended: bool = False,
        sources: Mapping[str, Any] = _NOTHING,
        then: Callable[[dict[str, Change]], None] | None = None,
    ) -> dict[str, Change]:
        """One step; gives the change of every view that is not LOCAL, and of `error_view`.

        With `ended` nothing will follow: what WATERMARK holds back is released. `sources` tells the log where the rows
        come from. `then` is called with the changes before Ctrl-C is obeyed again.
        """
        self.check_intact()
        if self.clock is not None and clock < self.clock:
            message = f"the clock cannot go back: it stands at {self.clock}, found {clock}"
            raise DataError(Diagnostic("CLOCK_BACK", message))
        started = time.perf_counter()
        self.maintain()
        staged: Staged | None = None
        result: StepResult | None = None
        try:
            intakes = self.fold(batches, clock, rejections, step=True)
            if ended:
                intakes += self._released(intakes)
            inputs = self._inputs(intakes, rejections)
            self._stepping = clock
            result = self.engine.step(inputs, clock)
            for row in error_rows(result.late):
                rejections.add(*row)
            views = self._settled(result)
            shown, finals = self._final(views, self.lines(clock, intakes, advances))
            facts = step_facts(self.declared, intakes, advances, sources, ended=ended)
            staged = self._stage(clock, intakes, rejections, facts)
        except BaseException as error:
            raise self._abandoned(error, staged, result) from error
        proposal = _Proposal(
            self.number + 1, clock, intakes, rejections, advances, result, views, shown, finals, staged
        )
        with uninterrupted() as hold:
            self._commit(proposal)
            changes = self._announce(proposal, time.perf_counter() - started)
            hold.obey_the_second()
            if then is not None:
                then(changes)
        return changes

    def _abandoned(self, error: BaseException, staged: Staged | None, result: StepResult | None) -> BaseException:
        """The error to raise for a step that leaves no trace."""
        if staged is not None:
            self.log.discard(staged)
        if result is not None:
            result.discard()
        self.engine.workspace.release()
        return translated(error, self.catalog)

    def check_intact(self) -> None:
        """Refuse to go on from a state that lacks a step which the log has."""
        if self.broken is not None:
            raise self.broken

    def maintain(self) -> None:
        """Merge what the last step has left to merge, and forget what is below the waterlines."""
        try:
            self.engine.maintain()
            for memory in self.memories.values():
                memory.forget()
        except BaseException as error:
            raise translated(error, self.catalog) from error

    def __post_init__(self) -> None:
        """Let the engine know the waterlines, for what it may forget, and whether it is to measure."""
        self.engine.lines = lambda derived: self.lines().text(derived)
        self.engine.profiler.wanted = lambda: is_measured(self.catalog)

    def lines(
        self,
        clock: datetime | None = None,
        intakes: Sequence[Intake] = (),
        advances: Advances = (),
    ) -> Lines:
        """The waterlines now, or as they will be once a step with these intakes is committed."""
        found = {name: (memory.lateness, memory.holding) for name, memory in self.memories.items()}
        for table in self.catalog.tables.values():
            found.setdefault(table.name.lower(), (declared_lateness(table), Holding()))
        found |= {intake.table.name.lower(): (intake.lateness, intake.holding) for intake in intakes}
        for table, column, value in advances:
            lateness, holding = found[table.name.lower()]
            found[table.name.lower()] = lateness.advanced(column, value), holding
        present = self.engine.gates()
        for name, view in self.catalog.views.items():
            if view.lateness:
                gate = present.get(name)
                lateness = gate.lateness if isinstance(gate, ViewGate) else view_lateness(view)
                found[name] = lateness, Holding()
        return Lines(found, clock or self.clock)

    def _final(self, views: Mapping[str, Delta], lines: Lines) -> tuple[dict[str, Delta], dict[str, FinalOutput]]:
        """The changes as outputs show them, and what waits to become final after this step."""
        shown, after = dict(views), dict[str, FinalOutput]()
        values = self.line_reader.values([item.final.waterline for item in self.finals.values()], lines)
        for (name, output), value in zip(self.finals.items(), values, strict=True):
            final, after[name] = output.after(views.get(name), value)
            shown.pop(name, None)
            if final is not None:
                shown[name] = final
        return shown, after

    def waterline_facts(self) -> list[WaterlineFact]:
        """What there is to know of each LATENESS or WATERMARK column of a table or view."""
        found: list[WaterlineFact] = []
        for table in self.catalog.tables.values():
            memory = self.memory(table)
            found += facts_of(table.name, memory.lateness, memory.holding, self.rejected)
        present = self.engine.gates()
        for name, view in self.catalog.views.items():
            gate = present.get(name)
            if view.lateness:
                lateness = gate.lateness if isinstance(gate, ViewGate) else view_lateness(view)
                found += facts_of(view.name, lateness, Holding(), self.rejected)
        return found

    def inferred_facts(self) -> list[WaterlineFact]:
        """The waterlines of the views' columns, as they follow from those of the tables."""
        return list(inferred_facts(self.catalog, self.line_reader, self.lines()))

    def step_clock(self) -> datetime:
        """The clock of the step that is under way, or of the last one."""
        clock = self._stepping or self.clock
        return now() if clock is None else clock

    def fold(
        self, batches: Sequence[Incoming], clock: datetime, rejections: Rejections, *, step: bool = False
    ) -> list[Intake]:
        """What the batches do to their tables; nothing changes yet. In a `step` only views read the changes."""
        by_table: dict[str, list[Incoming]] = {}
        for batch in batches:
            by_table.setdefault(batch.table.name.lower(), []).append(batch)
        return [self._fold_table(found, clock, rejections, step=step) for found in by_table.values()]

    @property
    def holds_rows(self) -> bool:
        """Whether some table holds rows back."""
        return any(memory.holding.count for memory in self.memories.values())

    def _released(self, folded: Sequence[Intake]) -> list[Intake]:
        """The held rows of all tables; those that this step brought as well."""
        last = {memory.table.name.lower(): memory.holding for memory in self.memories.values()}
        last |= {intake.table.name.lower(): intake.holding for intake in folded}
        found = []
        for name, holding in last.items():
            if holding.waiting is not None:
                memory = self.memories[name]
                lateness = next((item.lateness for item in folded if item.table is memory.table), memory.lateness)
                found.append(Intake(memory.table, holding.waiting, lateness, 0, holding=holding.emptied()))
        return found

    def _fold_table(
        self, batches: Sequence[Incoming], clock: datetime, rejections: Rejections, *, step: bool
    ) -> Intake:
        memory = self.memory(batches[0].table)
        judge = Judge(memory.lateness, clock, rejections, memory.holding)
        frames = [batch for batch in batches if isinstance(batch, FrameBatch)]
        if frames:
            read = self.engine.columns_read(memory.table.name.lower()) if step else None
            return fold_frame(self.engine.workspace, batches, judge, memory, lambda: self._counts(memory), read=read)
        batch = concatenated([batch for batch in batches if isinstance(batch, Batch)])
        if memory.store is not None:
            return fold_keyed(batch, judge, memory.store)
        return fold_rows(batch, judge, lambda: self._counts(memory), memory.counts)

    def _counts(self, memory: TableMemory) -> RowCounts:
        """The whole-row counts of a table, made from its history when first asked for."""
        if memory.counts is None:
            from penstock.spark.change import Delta

            found = RowCounts(self.engine.workspace, memory.table)
            before = self.log.weighted(self.engine.workspace, memory.table)
            if before is not None:
                found.load(Delta.of_frame(self.engine.workspace, consolidated(before)).settled())
            if memory.holding.waiting is not None:
                found.apply((row[:-1], row[-1]) for row in python_rows(memory.holding.waiting))
            memory.counts = found
        return memory.counts

    def _inputs(self, intakes: Sequence[Intake], rejections: Rejections) -> dict[str, Delta]:
        workspace = self.engine.workspace
        inputs: dict[str, Delta] = {}
        for intake in intakes:
            if not intake.is_empty:
                change = intake.change
                name = intake.table.name.lower()
                inputs[name] = as_delta(workspace, intake.table, change) if isinstance(change, pa.Table) else change
        if rejections.rows:
            inputs[ERROR_VIEW.name] = as_delta(workspace, ERROR_VIEW, rejections.change())
        return inputs

    def _settled(self, result: StepResult) -> dict[str, Delta]:
        """The views' changes, evaluated, so that nothing can fail later."""
        found = {name: delta for name, delta in result.changes.items() if name in self.catalog.views}
        waiting = [delta for delta in found.values() if delta.rows is None]
        if len(waiting) > 1:
            with ThreadPoolExecutor(_THREADS) as pool:
                list(pool.map(lambda delta: delta.settled(), waiting))
        else:
            for delta in waiting:
                delta.settled()
        return {name: delta for name, delta in found.items() if not delta.is_empty()}

    def _stage(
        self, clock: datetime, intakes: Sequence[Intake], rejections: Rejections, facts: Mapping[str, Any]
    ) -> Staged:
        changes = [(intake.table, intake.change) for intake in intakes if not intake.is_empty]
        if rejections.rows:
            changes.append((ERROR_VIEW, rejections.change()))
        return self.log.stage(self.number + 1, clock, changes, facts)

    def _commit(self, proposal: _Proposal) -> None:
        try:
            self.log.publish(proposal.staged)
        except BaseException as error:
            raise self._abandoned(error, proposal.staged, proposal.result) from error
        try:
            self._follow(proposal)
        except Exception as error:
            message = f"step {proposal.number} is in the log, but the state could not follow it: {error}"
            hint = "nothing more is taken in; close the pipeline and start it again"
            self.broken = InternalError(Diagnostic("STATE_BEHIND_LOG", message, hint=hint))
            raise self.broken from error

    def _follow(self, proposal: _Proposal) -> None:
        """Let everything that is remembered follow a step that the log has."""
        self.log.adopt(proposal.staged, self.catalog.tables)
        proposal.result.commit()
        for intake in proposal.intakes:
            intake.apply()
            memory = self.memory(intake.table)
            memory.lateness = intake.lateness
            memory.holding = intake.holding
            memory.received += intake.received
        for table, column, value in proposal.advances:
            memory = self.memory(table)
            memory.lateness = memory.lateness.advanced(column, value)
        self.finals.update(proposal.finals)
        for name, delta in proposal.views.items():
            if self._keeps(name):
                self.retained.setdefault(name, Retained(self.engine.workspace)).add(delta)
        for key, number in counts(proposal.rejections.rows).items():
            self.rejected[key] = self.rejected.get(key, 0) + number
        self.number, self.clock = proposal.number, proposal.clock
        self.fresh.clear()
        self.declared.statements.clear()

    def _keeps(self, view: str) -> bool:
        found = self.catalog.views[view]
        return self.retain == "all" or found.kind == "materialized" or bool(found.lateness)

    def _announce(self, proposal: _Proposal, seconds: float) -> dict[str, Change]:
        views = self.catalog.views.items()
        changes = {view.name: self._change(proposal, name, view) for name, view in views if view.kind != "local"}
        error_columns = tuple(column.name for column in ERROR_VIEW.columns)
        change = proposal.rejections.change() if proposal.rejections.rows else None
        delta = None if change is None else as_delta(self.engine.workspace, ERROR_VIEW, change)
        changes[ERROR_VIEW.name] = Change(ERROR_VIEW.name, error_columns, proposal.number, proposal.clock, delta)
        rejected: dict[str, int] = {}
        for row in proposal.rejections.rows:
            rejected[row.relation] = rejected.get(row.relation, 0) + 1
        event = StepDone(
            proposal.number,
            proposal.clock,
            seconds,
            {intake.table.name: intake.received for intake in proposal.intakes},
            {self.catalog.views[name].name: delta.count() for name, delta in proposal.shown.items()},
            rejected,
            sizes_of(self.engine),
            measured_of(self.engine, proposal.number, seconds),
        )
        for listener in list(self.listeners):
            listener(event, changes)
        return changes

    def _change(self, proposal: _Proposal, name: str, view: View) -> Change:
        columns = tuple(column.name for column in view.columns)
        return Change(view.name, columns, proposal.number, proposal.clock, proposal.shown.get(name))


def now() -> datetime:
    """The wall clock as a naive UTC datetime."""
    return datetime.now(UTC).replace(tzinfo=None)
