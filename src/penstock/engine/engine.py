"""The engine: circuits at work.

Views that are installed together share one circuit. A circuit's first step is fed with the whole contents of its
tables, so that a view created late starts with its whole content; all later ones with the tables' changes. A step
evaluates the touched operators level by level, operators of one level on threads, and proposes new state; `commit`
or `discard` ends it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa

from penstock.backends import api
from penstock.backends.api import Lines, Runner
from penstock.backends.columns import fitted
from penstock.backends.gates import Gate
from penstock.backends.native.asked import nobody
from penstock.backends.native.operators.operator import NativeOperator
from penstock.backends.native.store import Store
from penstock.backends.spark.batch import batch_frame, resolve_types, struct_of
from penstock.backends.spark.change import Delta, all_own
from penstock.backends.spark.operators.arriving import ArrivedRunner, ArrivingRunner
from penstock.backends.spark.operators.cleaned import CleanedRunner
from penstock.backends.spark.operators.make import make_runner
from penstock.backends.spark.telling import told
from penstock.backends.spark.typed import SparkTyping
from penstock.backends.spark.workspace import Workspace
from penstock.catalog.model import ERROR_VIEW, NOTHING, Catalog, View
from penstock.catalog.reserved import WEIGHT
from penstock.catalog.settings import NATIVE, engine_of, memory_limit_of
from penstock.circuit.build import build_circuit
from penstock.circuit.error_view import reads_error_view
from penstock.circuit.measured import Profile
from penstock.circuit.narrowing import narrowed
from penstock.circuit.operators import Arrived, Arriving, Circuit, Cleaned, OfStep, Operator, Source
from penstock.circuit.places import ON_SPARK, Place
from penstock.engine.beginning import Before, Beginning, Nothing
from penstock.engine.following import Following, Progress, StepWork
from penstock.engine.held import HeldCircuit, HeldEngine
from penstock.engine.installed import Installed, InstalledOperator, levels
from penstock.engine.native import NativeRunner
from penstock.engine.placing import Kept, check_native, none_kept, placed, wants_process
from penstock.engine.profiler import Profiler
from penstock.engine.result import StepResult
from penstock.engine.schemas import relation_schema, schema_of
from penstock.engine.surface import Surface
from penstock.engine.typed import ProvenTyping
from penstock.plan.nodes import Plan

_THREADS = 2


class Engine(Surface):
    """All circuits of one pipeline over one Spark session."""

    def __init__(self, workspace: Workspace, directory: Path | None = None, kept: Kept = none_kept) -> None:
        """State in the process that memory has no room for lies in `directory`, if the pipeline has one.

        Operators that are `kept` work on Spark, whatever is proven of them.
        """
        self.workspace = workspace
        self.kept = kept
        self._directory = directory
        self._limit = ""
        self._alone = False
        self.store: Store | None = None  # where operators work in the process, if any do
        self.clock: datetime | None = None
        self.profiler = Profiler(workspace)
        self.installed: list[Installed] = []
        self._before: Before = Nothing()
        self._grown: list[Runner[Delta]] = []
        # The waterlines after the last step, as constant Spark SQL; without them nothing is collected.
        self.lines: Lines | None = None
        self._gate: Callable[[View], Gate] | None = None
        # The rows that a view has not taken, as a change of `error_view`.
        self.reported: Callable[[str, pa.Table], pa.Table] | None = None
        self._views: dict[str, View] = {}
        self.parting: list[NativeOperator] | None = None  # what goes, while it may still have to come back
        self.aside: list[Installed] = []  # circuits that are being filled beside those at work
        self.failed: InstalledOperator | None = None  # the operator at which the last step has failed, if one has
        self._failures: list[tuple[Exception, InstalledOperator]] = []  # of operators on threads, in time's order

    def install(
        self,
        catalog: Catalog,
        names: Collection[str],
        before: Before | None = None,
        gate: Callable[[View], Gate] | None = None,
        ask: Callable[[], object] | None = None,
        *,
        shared: Collection[str] = (),
        reports: Mapping[str, Sequence[Plan]] = NOTHING,
    ) -> None:
        """Maintain the views `names` of `catalog` from the next step on.

        `before` gives a table's rows before that step; `gate` the filter of a view with LATENESS. `ask` has Spark read
        the program, which it has not yet: it is asked where something is not proven. Views that are `shared`, which
        circuits before maintain, are read as what these make of them; `before` has their rows too. `reports` are the
        rows that a view does not take.
        """
        self._gate = gate or self._gate
        self._views.update((name, view) for name, view in catalog.views.items() if view.lateness)
        self._before = before or self._before
        views = {name.lower(): catalog.views[name.lower()].plan for name in names}
        behind = {name: plan for name, plan in views.items() if reads_error_view(plan, catalog)}
        others = {name: plan for name, plan in views.items() if name not in behind}
        present = list(self.installed)
        try:
            for part in (others, behind):
                if part:  # one that reads `error_view` is made when the gates of the others are known
                    late = {name: plans for name, plans in reports.items() if name.lower() in part}
                    self.installed.append(self._made(catalog, part, shared, late, behind=part is behind))
            if ask is not None and any(item.needs_spark for item in self.installed[len(present) :]):
                ask()
        except BaseException:
            for item in self.installed[len(present) :]:
                item.drop()
            self.installed = present
            raise
        self.workspace.release()

    def _made(
        self,
        catalog: Catalog,
        views: Mapping[str, Plan],
        shared: Collection[str],
        reports: Mapping[str, Sequence[Plan]],
        *,
        behind: bool,
    ) -> Installed:
        installed = self.circuit(catalog, views, shared, reports, behind=behind)
        if self.store is not None:
            check_native(catalog, installed.circuit, installed.others)
        return installed

    def circuit(
        self,
        catalog: Catalog,
        views: Mapping[str, Plan],
        shared: Collection[str] = (),
        reports: Mapping[str, Sequence[Plan]] = NOTHING,
        *,
        behind: bool = False,
    ) -> Installed:
        """A circuit for some plans, with its operators in their places; it is not at work."""
        store = self.process(catalog)
        spark = SparkTyping(self.workspace, catalog)
        typing = spark if store is None else ProvenTyping(catalog, spark)
        given = {*self.gates(), *shared} - views.keys()  # one that takes the place of another is made anew
        circuit = narrowed(build_circuit(views, catalog, typing, given, bucketed=store is None, reports=reports))
        tables = {
            operator.relation: relation_schema(catalog, operator.relation)
            for operator in circuit.operators
            if isinstance(operator, Source)
        }
        installed = Installed(circuit, tables, behind)
        if store is not None:
            installed.native, installed.others = placed(store, circuit, self.kept)
        return installed

    def piece(self, installed: Installed, inputs: Mapping[str, api.Delta]) -> StepResult:
        """Evaluate a part of what fills a circuit aside, as a transaction of its own, between two steps."""
        self._forget_failure()
        self._begin(self.clock)
        result = StepResult(self, {}, [])
        try:
            self.evaluate(installed, all_own(inputs), result, Progress())
            result.settled(result.changes)
        except BaseException:
            result.discard()
            raise
        return result

    def take_in(self, installed: Installed) -> None:
        """Have a circuit that has been filled aside be at work from the next step on."""
        self.aside = [item for item in self.aside if item is not installed]
        installed.aside = False
        self.installed.append(installed)

    def process(self, catalog: Catalog) -> Store | None:
        """The store in the process, with the program's limit; None where the program wants everything on Spark."""
        return self.opened_store(catalog) if wants_process(catalog, local=self.workspace.is_local) else None

    def opened_store(self, catalog: Catalog) -> Store:
        """The store in the process, whether the program wants it or not: a snapshot may have rows for it."""
        limit = memory_limit_of(catalog.settings)
        self._alone = engine_of(catalog.settings) == NATIVE
        if self.store is None:
            folder = None if self._directory is None else self._directory / "spilled"
            self.store = Store(folder, limit, self._asked)
        elif limit != self._limit:
            self.store.limit_memory(limit)
        self._limit = limit
        return self.store

    def _asked(self, kind: str, values: Sequence[Any]) -> Sequence[Any]:
        """The answers of Spark for values that the process cannot read or write, unless the program wants none."""
        return nobody(kind, values) if self._alone else told(self.workspace.spark, kind, values)

    def set_clock(self, clock: datetime | None) -> None:
        """Have it be at the clock of a snapshot."""
        self.clock = self.workspace.clock = clock

    def close_store(self) -> None:
        """Have nothing lie in the process."""
        if self.store is not None:
            self.store.close()
        self.store = None

    def close(self) -> None:
        """Forget what lies in the process; nothing can be asked of it any more."""
        if self.store is not None:
            self.store.close()

    def surroundings(self) -> dict[str, object]:
        """All that the process makes for itself, and a snapshot only names."""
        return {"workspace": self.workspace, "store": self.store, "engine": self, "profiler": self.profiler}

    def remembered(self) -> dict[str, Any]:
        """The circuits at work, but for the rows of the store: for a snapshot."""
        names = None if self.store is None else self.store.next_name
        return {
            "installed": self.installed,
            "views": self._views,
            "clock": self.clock,
            "grown": self._grown,
            "names": names,
        }

    def take_over(self, found: Mapping[str, Any]) -> None:
        """Have the circuits of a snapshot at work."""
        self.installed, self._views, self._grown = found["installed"], found["views"], found["grown"]
        self.set_clock(found["clock"])
        if self.store is not None and found["names"] is not None:  # it had none: no operator worked in the process
            self.store.next_name = found["names"]

    def gates(self) -> dict[str, Gate | None]:
        """The filter of each view with LATENESS, as the step under way leaves it; None before the first row."""
        found: dict[str, Gate | None] = {}
        for installed in self.installed:
            for operator in installed.circuit.operators:
                if isinstance(operator, Cleaned):
                    runner = installed.runners.get(operator.number)
                    found[operator.view] = runner.proposed_gate if isinstance(runner, CleanedRunner) else None
        return found

    def move_gate(self, view: str, gate: Gate) -> None:
        """Have another filter stand behind a view with LATENESS: windows over it are over, or sessions."""
        for installed in self.installed:
            for runner in installed.runners.values():
                if isinstance(runner, CleanedRunner) and runner.view.lower() == view:
                    runner.gate = gate

    def remove(self, name: str, among: Sequence[Installed] | None = None) -> None:
        """Stop maintaining a view; operators that only it needed go with it.

        `among` limits this to some circuits: a view that replaces another is installed before the old one goes.
        """
        for installed in [item for item in self.installed if among is None or any(item is one for one in among)]:
            installed.circuit = installed.circuit.without(name.lower())
            needed = {item.number for item in installed.circuit.operators}
            installed.runners = {number: item for number, item in installed.runners.items() if number in needed}
            for number in installed.native.keys() - needed:
                self._part(installed.native.pop(number))
            if not installed.circuit.outputs:
                self.installed.remove(installed)
        left = [runner for installed in self.installed for runner in installed.runners.values()]
        self._grown = [runner for runner in self._grown if any(runner is item for item in left)]

    def _part(self, native: NativeOperator) -> None:
        if self.parting is None:
            native.drop()
        else:
            self.parting.append(native)

    def held(self) -> HeldEngine:
        """The circuits as they are now, to which the engine can go back until that is let go."""
        return HeldEngine(self, list(self.installed), [HeldCircuit.of(item) for item in self.installed])

    def step(
        self, inputs: Mapping[str, api.Delta], clock: datetime | None = None, following: Sequence[Following] = ()
    ) -> StepResult:
        """Evaluate one step; `inputs` maps lower-case table names to changes, others are `following` from views'."""
        self.maintain()
        for installed in self.installed:
            for runner in installed.runners.values():
                runner.discard()  # a step that was stopped where nothing could follow it
        self._forget_failure()
        self.profiler.begin()
        self._begin(clock)
        result = StepResult(self, {}, [])
        try:
            StepWork(self, all_own(inputs), result).all(following)
        except BaseException:
            result.discard()
            raise
        return result

    def _begin(self, clock: datetime | None) -> None:
        self.workspace.clock = clock
        if self.store is not None:
            self.store.begin(clock, self.clock)

    @contextmanager
    def failing_at(self, place: InstalledOperator) -> Iterator[None]:
        """Note the operator that is at work when something fails."""
        try:
            yield
        except Exception as error:
            self._failures.append((error, place))
            self.failed = self.failed or place
            raise

    def blame(self, error: BaseException) -> None:
        """Have the operator that raised this error be the one that has failed: others may have failed after it."""
        self.failed = next((place for raised, place in self._failures if raised is error), self.failed)

    def _forget_failure(self) -> None:
        self.failed = None
        self._failures.clear()

    @contextmanager
    def _blaming(self) -> Iterator[None]:
        """Blame the operator of the error that comes out of several threads."""
        try:
            yield
        except Exception as error:
            self.blame(error)
            raise

    @contextmanager
    def _stopping(self) -> Iterator[None]:
        """Have Ctrl-C stop what works in the process on another thread, for which the caller waits."""
        try:
            yield
        except KeyboardInterrupt:
            if self.store is not None:
                self.store.interrupt()
            raise

    def attempt(
        self,
        inputs: Mapping[str, api.Delta],
        clock: datetime,
        place: InstalledOperator,
        following: Sequence[Following] = (),
    ) -> None:
        """Evaluate what leads to one operator in such a step, and forget it again; raises what that raises."""
        self._forget_failure()
        self._begin(clock)
        result = StepResult(self, {}, [])
        work = StepWork(self, all_own(inputs), result)
        try:
            work.lead_to(place, following)
            delta = work.progress_of(place.installed).deltas.get(place.number)
            if delta is not None:
                delta.settled()
        finally:
            result.discard()

    def inputs_of(self, installed: Installed, inputs: Mapping[str, Delta], result: StepResult) -> dict[str, Delta]:
        """The inputs of a circuit: the step's, and what circuits before it say of views that it reads."""
        made = {name: result.changes[name] for name in installed.reads if name in result.changes}
        found = {**inputs, **{name: delta.settled() for name, delta in made.items()}}
        if result.late:
            found[ERROR_VIEW.name] = self._errors(inputs.get(ERROR_VIEW.name), result.late)
        return found

    def _errors(self, reported: Delta | None, late: Sequence[pa.Table]) -> Delta:
        """The change of `error_view`: what intake has rejected, and late rows of views."""
        tables = ([] if reported is None else [reported.arrow()]) + list(late)
        together = pa.concat_tables([fitted(table, tables[-1].schema) for table in tables])
        schema = struct_of(ERROR_VIEW.columns).add(WEIGHT, "long")
        return Delta.of_arrow(self.workspace, together, schema)

    def evaluate(
        self,
        installed: Installed,
        inputs: Mapping[str, Delta],
        result: StepResult,
        progress: Progress,
        only: Collection[int] | None = None,
    ) -> None:
        """Evaluate the operators of a circuit, or some of them and what they read, that have not been yet."""
        deltas = progress.deltas
        consumers = installed.circuit.consumers()
        for level in levels(installed.circuit):
            wanted = [operator for operator in level if only is None or operator.number in only]
            wanted = [operator for operator in wanted if operator.number not in progress.seen]
            progress.seen |= {operator.number for operator in wanted}
            jobs = [operator for operator in wanted if self._due(installed, operator, deltas, inputs)]
            run = self._job(installed, deltas, inputs, consumers, result)
            if self.profiler.on:
                found = [self.profiler.measured(installed.tallies[item.number], item, deltas, run) for item in jobs]
            elif sum(not isinstance(item, Source) and item.number not in installed.native for item in jobs) > 1:
                with ThreadPoolExecutor(_THREADS) as pool, self._stopping(), self._blaming():
                    found = list(pool.map(run, jobs))
            else:
                found = [run(operator) for operator in jobs]
            deltas.update((operator.number, delta) for operator, delta in zip(jobs, found, strict=True))
        for view, number in installed.circuit.outputs.items():
            delta = deltas.get(number)
            if delta is not None:
                result.changes[view] = delta
                result.outputs[view] = InstalledOperator(installed, number)

    def _due(
        self, installed: Installed, operator: Operator, deltas: Mapping[int, Delta | None], inputs: Mapping[str, Delta]
    ) -> bool:
        if isinstance(operator, Source):
            return installed.fresh or operator.relation in inputs or bool(self._late_of(installed, operator))
        if installed.fresh:
            return True
        runner = installed.runners.get(operator.number)
        changed = any(_has_rows(deltas.get(number)) for number in operator.inputs)
        return changed or (runner is not None and runner.wants_step())

    def _job(
        self,
        installed: Installed,
        deltas: Mapping[int, Delta | None],
        inputs: Mapping[str, Delta],
        consumers: Mapping[int, int],
        result: StepResult,
    ) -> Callable[[Operator], Delta | None]:
        def run(operator: Operator) -> Delta | None:
            if isinstance(operator, Source):
                return self._source(installed, operator, inputs)
            runner = self._runner(installed, operator)
            result.touched.append(runner)
            changed = [deltas.get(number) for number in operator.inputs]
            with self.failing_at(InstalledOperator(installed, operator.number)):
                found = runner.step(changed, first=installed.fresh)
                if found is not None and consumers[operator.number] > 1:
                    found.shared()
            return None if found is None or found.is_empty() else found

        return run

    def _late_of(self, installed: Installed, operator: Source) -> list[pa.Table]:
        """The late rows that the operators before `error_view` have found in this step."""
        runners = [installed.runners.get(number) for number in operator.inputs]
        return [item.late for item in runners if isinstance(item, CleanedRunner) and item.late is not None]

    def _source(self, installed: Installed, operator: Source, inputs: Mapping[str, Delta]) -> Delta | None:
        delta = inputs.get(operator.relation)
        late = self._late_of(installed, operator)
        if late:
            delta = self._errors(delta, late)
        delta = None if delta is None else delta.selected(operator.node.names)
        begins = installed.fresh and not installed.aside
        if begins and (not operator.is_tail or operator.since is not None):
            return Beginning(self.workspace, self.store, installed, self._before).change(operator, delta)
        return delta

    def _runner(self, installed: Installed, operator: Operator) -> Runner[Delta]:
        if operator.number not in installed.runners and isinstance(operator, Cleaned):
            assert self._gate is not None  # noqa: S101 - given when a view with LATENESS is installed
            gate = self._gate(self._views[operator.view])
            installed.runners[operator.number] = CleanedRunner(self.workspace, operator, gate)
        if operator.number not in installed.runners and isinstance(operator, Arriving | Arrived):
            made = ArrivingRunner if isinstance(operator, Arriving) else ArrivedRunner
            schema = schema_of(self.workspace, installed, operator.inputs[0])
            installed.runners[operator.number] = made(self.workspace, schema)
        if operator.number not in installed.runners and operator.number in installed.native:
            installed.runners[operator.number] = NativeRunner(self.workspace, installed.native[operator.number])
        if operator.number not in installed.runners:
            known = [schema_of(self.workspace, installed, number) for number in operator.inputs]
            output = partial(schema_of, self.workspace, installed, operator.number)
            runner = make_runner(self.workspace, operator, known, output)
            runner.expiries = operator.expiries
            installed.runners[operator.number] = runner
        return installed.runners[operator.number]

    def maintain(self) -> None:
        """Merge what the last step has left to merge: at the next step, or before it when the caller is idle."""
        others = [runner for runner in self._grown if not isinstance(runner, NativeRunner)]
        if self.profiler.on or len(others) <= 1:
            for runner in self._grown:
                with self.profiler.merging(runner, self.installed):
                    runner.merge(self.lines)
        else:
            with ThreadPoolExecutor(_THREADS) as pool:
                list(pool.map(lambda runner: runner.merge(self.lines), self._grown))
        self._grown = []
        self.workspace.checkpoints.give_back()

    def resolved(self, catalog: Catalog) -> Catalog:
        """The catalog with every view's column types as Spark gives them, which reads the program for that."""
        return resolve_types(self.workspace, catalog)

    def answered(
        self, plan: Plan, relations: Mapping[str, api.Relation], clock: datetime | None = None
    ) -> api.Relation:
        """The answer of a plan by Spark; `relations` has the content of all that it scans, by lower-case name."""
        return batch_frame(self.workspace, plan, relations, clock)

    def columns_read(self, relation: str) -> frozenset[str]:
        """The columns of a table, in lower case, that some operator reads."""
        return frozenset(
            name.lower()
            for installed in (*self.installed, *self.aside)
            for operator in installed.circuit.operators
            if isinstance(operator, Source) and operator.relation == relation
            for name in operator.node.names
        )

    def is_read_here(self, relation: str) -> bool:
        """True if some operator reads a table, named in lower case, and all that do work in the process."""
        readers = [
            operator.number in installed.native or isinstance(operator, OfStep)
            for installed in (*self.installed, *self.aside)
            for source in installed.circuit.operators
            if isinstance(source, Source) and source.relation == relation
            for operator in installed.circuit.operators
            if source.number in operator.inputs
        ]
        return bool(readers) and all(readers)

    def profile(self) -> Profile:
        """The measurements so far."""
        found = (self.profiler.of_circuit(item) for item in self.installed)
        return replace(self.profiler.profile, circuits=tuple(found))

    def state(self) -> Iterator[tuple[Circuit, Operator, int, int]]:
        """Each stateful operator, in its circuit, with the rows and bytes that it keeps."""
        for installed in self.installed:
            for operator in installed.circuit.operators:
                runner = installed.runners.get(operator.number)
                sizes = list(runner.state()) if runner is not None else []
                if sizes:
                    yield installed.circuit, operator, sum(rows for rows, _ in sizes), sum(size for _, size in sizes)

    def place_of(self, circuit: Circuit, operator: Operator) -> Place:
        """The place in which an operator works."""
        found = (item.place_of(operator.number) for item in self.installed if item.circuit is circuit)
        return next(found, ON_SPARK)

    def compact(self) -> None:
        """Merge every trace into one layer, and drop what no accepted input can touch again."""
        for installed in self.installed:
            for runner in installed.runners.values():
                runner.compact(self.lines)
        self.workspace.release()


def _has_rows(delta: Delta | None) -> bool:
    return delta is not None and not delta.is_empty()
