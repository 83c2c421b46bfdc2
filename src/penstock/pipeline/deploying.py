"""A change of program at work: planned, filled beside the run where one goes on, then made in one step.

    asked for  →  new views are filled, piece by piece between the run's steps  →  the step of the change

While `run` follows the sources it is the run's thread that does all of it: its outputs get the difference as they get
any step. Whoever asks may give up at any moment before that step; then nothing is left of it.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as NotYetError
from dataclasses import dataclass, field, replace

import pyarrow as pa

from penstock.bind.program.compile import Program
from penstock.catalog.model import ERROR_VIEW, Catalog, View
from penstock.engine.placing import wants_process
from penstock.engine.typed import typed_in_process
from penstock.errors import DataError, Diagnostic, PenstockError, SqlError, UnsupportedError
from penstock.pipeline.answer import Answer
from penstock.pipeline.contents import Contents
from penstock.pipeline.deployment import Deployment, Present, deployment, missing_of
from penstock.pipeline.execution import Changes, Execution
from penstock.pipeline.reads import as_spark_sees
from penstock.steps.filling import Filling, FillingFacts, IndefiniteError, Wanted
from penstock.steps.proposing import StepInput
from penstock.steps.rows.added import columns_added, with_earlier
from penstock.steps.stepper import Installation, Then

_LOOK_SECONDS = 0.1
Told = Callable[[FillingFacts], object]


@dataclass
class Request:
    """A change of program that somebody asks of the run.

    `begin` gives the views to be filled before it, if there are any; `work` makes it, with those that have been.
    `leave` drops them. Who has asked and waits no more has `given_up`.
    """

    begin: Callable[[], Filling | None]
    work: Callable[[Then | None, Filling | None], Changes]
    leave: Callable[[], None]
    future: Future[Changes] = field(default_factory=Future)
    given_up: threading.Event = field(default_factory=threading.Event)
    filling: Filling | None = None

    def made_here(self) -> Changes:
        """The change made at once, where nobody else has to go on."""
        return self.work(None, None)

    def fail(self, error: BaseException) -> None:
        """Leave nothing of it, and tell who has asked; what is no diagnostic is the run's error too."""
        self.leave()
        self.future.set_exception(error)
        if not isinstance(error, PenstockError):
            raise error


@dataclass
class Requests:
    """Changes of program that wait for the run, and the one that it is at."""

    _waiting: queue.SimpleQueue[Request] = field(default_factory=queue.SimpleQueue)
    _present: Request | None = None

    def made_by_the_run(self, request: Request, runs: Callable[[], bool], told: Told | None = None) -> Changes:
        """Have the run make a change; if the run ends before it has begun, make it here.

        `told` is given how far the new views are, again and again. What it raises, and Ctrl-C, gives the change up.
        """
        self._waiting.put(request)
        try:
            while True:
                try:
                    return request.future.result(timeout=_LOOK_SECONDS)
                except NotYetError:
                    if not runs() and request.future.cancel():
                        return request.made_here()
                    if told is not None and request.filling is not None:
                        told(request.filling.facts)
        except BaseException:
            request.given_up.set()
            raise

    @property
    def facts(self) -> FillingFacts | None:
        """The progress of the new views that are being filled; None if there are none."""
        present = self._present
        return None if present is None or present.filling is None else present.filling.facts

    @property
    def is_busy(self) -> bool:
        """True if there is something to do for the run."""
        return self._present is not None or not self._waiting.empty()

    def serve(self, then: Then, seconds: float) -> float:
        """Go on by one piece, which should take so many seconds, or make a change; how long a piece has taken."""
        request = self._next()
        if request is None:
            return 0.0
        try:
            return self._go_on(request, then, seconds)
        except BaseException as error:  # noqa: BLE001 - who has asked is told
            self._present = None
            request.fail(error)
            return 0.0

    def _next(self) -> Request | None:
        while self._present is None and not self._waiting.empty():
            request = self._waiting.get()
            if request.future.set_running_or_notify_cancel():
                self._present = request
        return self._present

    def _go_on(self, request: Request, then: Then, seconds: float) -> float:
        if request.given_up.is_set():
            raise _given_up()
        taken = 0.0
        try:
            if request.filling is None:
                request.filling = request.begin()
            if request.filling is not None and not request.filling.is_near:
                return request.filling.piece(seconds)
            if request.filling is not None:
                request.filling.finish()
        except IndefiniteError:
            request.leave()
            request.filling = None
        changes = request.work(then, request.filling)
        self._present = None
        request.future.set_result(changes)
        return taken

    def end(self) -> None:
        """The run ends: what it was at has not happened."""
        if self._present is not None:
            request, self._present = self._present, None
            request.fail(_run_ended())


def _given_up() -> DataError:
    return DataError(Diagnostic("DEPLOY_GIVEN_UP", "the change of program was given up: nothing has changed"))


def _run_ended() -> DataError:
    message = "the run has ended before the new views were filled: nothing has changed"
    return DataError(Diagnostic("DEPLOY_GIVEN_UP", message, hint="ask for the change again"))


def planned(execution: Execution, program: Program, rate: float | None) -> Deployment:
    """The change from the program at work to another."""
    stepper = execution.stepper
    present = Present(
        execution.catalog,
        stepper.number > 0,
        stepper.log.rows,
        missing_of(stepper.stored.check_reach),
    )
    return deployment(present, program, rate)


def with_obstacles(execution: Execution, found: Deployment) -> Deployment:
    """A change of program that also says which of its views cannot be filled beside a run, and why."""
    return found if found.problems else replace(found, at_once=_at_once(execution, found))


def _at_once(execution: Execution, found: Deployment) -> dict[str, str]:
    if not found.added:
        return {}
    catalog = as_spark_sees(found.after.with_table(ERROR_VIEW))
    process = wants_process(catalog, local=execution.engine.is_local)
    typed = typed_in_process(catalog, found.added) if process else None
    if typed is None:
        return dict.fromkeys(found.added, "its operators work on Spark, or its types are known to Spark alone")
    return execution.stepper.obstacles(_wanted(execution, found, typed, found.added))


def filling_of(execution: Execution, found: Deployment) -> Filling | None:
    """The views of a change of program that are filled before it, from now on; None if all are filled with it."""
    if not (found.beside and execution.stepper.number) or execution.transaction is not None or found.problems:
        return None
    execution.sweep()
    installation, _ = _installation(execution, found)
    return execution.stepper.fill(_wanted(execution, found, installation.typed, found.beside))


def _wanted(execution: Execution, found: Deployment, typed: Catalog, names: Sequence[str]) -> Wanted:
    """The views to be filled, and those that they replace whose answers are not kept."""
    before, keeps = execution.catalog.views, execution.stepper.stored.keeps
    compared = [name for name in _compared(execution, found, typed) if name in names and not keeps(before[name])]
    return Wanted(typed, names, as_spark_sees(execution.catalog.with_table(ERROR_VIEW)), compared)


def _compared(execution: Execution, found: Deployment, typed: Catalog) -> list[str]:
    """The views that others with the same columns take the place of, and that are shown."""
    before = execution.catalog.views
    replaced = [name for name in found.removed if name in found.added and before[name].is_output]
    return [name for name in replaced if _alike(before[name], typed.views[name])]


def _installation(execution: Execution, found: Deployment) -> tuple[Installation, StepInput]:
    """All that the stepper needs for a change of program, and its step."""
    clock = execution.clock()
    widened = columns_added(execution.catalog, found.after)
    after = with_earlier(execution.catalog, found.after, widened, clock)
    return execution.installation(after, found.added, found.removed, found.dropped, widened), StepInput(clock)


def same_program(one: Catalog, other: Catalog) -> bool:
    """True if nothing has been declared between two catalogs."""
    parts = ("tables", "views", "functions", "settings", "writers")
    return all(_same(getattr(one, part), getattr(other, part)) for part in parts)


def _same(one: Mapping[str, object], other: Mapping[str, object]) -> bool:
    return one.keys() == other.keys() and all(other[name] is item for name, item in one.items())


def deployed(
    execution: Execution, found: Deployment, then: Then | None = None, filled: Filling | None = None
) -> Changes:
    """Make a change of program: one step, which shows what is different; or nothing has changed.

    Views that are `filled` take their places; others are filled now. Raises UnsupportedError for what keeps it from
    being made, and what its step raises.
    """
    if found.problems:
        raise UnsupportedError(found.problems)
    if execution.transaction is not None:
        raise SqlError(Diagnostic("IN_TRANSACTION", "a program cannot change in a transaction", hint="COMMIT first"))
    if not found.statements:
        return {}
    execution.sweep()
    stepper = execution.stepper
    wanted, given = _installation(execution, found)
    earlier = _earlier(execution, _compared(execution, found, wanted.catalog), filled) if stepper.number else {}
    wanted = replace(wanted, filled=filled)
    restore, number = execution.outlets.held(), stepper.number
    try:
        execution.outlets.follow(wanted.catalog, {*found.added, *found.dropped}, earlier)
        changes = stepper.replace(wanted, earlier, found.statements, given, then)
    except BaseException:
        if stepper.number == number:
            restore()
        raise
    execution.changes_of_program += 1
    return changes


def _earlier(execution: Execution, names: Iterable[str], filled: Filling | None) -> dict[str, pa.Table]:
    """The present answers of views: those that have been filled, are kept, or are answered now."""
    there = {} if filled is None else filled.earlier()
    before, contents = execution.catalog.views, Contents(execution.stepper, execution.clock())
    return {name: there[name] if name in there else _answer(execution, contents, before[name]) for name in names}


def _answer(execution: Execution, contents: Contents, view: View) -> pa.Table:
    kept = contents.maintained_rows(view) if execution.stepper.stored.keeps(view) else None
    return Answer(execution.engine.relations, contents.answered(view.plan) if kept is None else kept).arrow()


def _alike(one: View, other: View) -> bool:
    """True if two views have the same columns, so that their rows can be compared."""
    return [(item.name, item.type) for item in one.columns] == [(item.name, item.type) for item in other.columns]
