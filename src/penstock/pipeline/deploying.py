"""A change of program at work: planned, then made in one step, by whoever steps.

While `run` follows the sources it is the run's thread that makes it, between two steps: its outputs get the difference
as they get any step.
"""

from __future__ import annotations

import queue
from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures import TimeoutError as NotYetError
from dataclasses import dataclass, field

import pyarrow as pa

from penstock.bind.program.compile import Program
from penstock.catalog.model import View
from penstock.errors import Diagnostic, PenstockError, SqlError, UnsupportedError
from penstock.pipeline.answer import Answer
from penstock.pipeline.contents import Contents
from penstock.pipeline.deployment import Deployment, Present, deployment, missing_of
from penstock.pipeline.execution import Changes, Execution
from penstock.steps.proposing import StepInput
from penstock.steps.rows.added import columns_added, with_earlier
from penstock.steps.stepper import Installation, Then

_LOOK_SECONDS = 0.1
Work = Callable[[Then | None], Changes]


@dataclass
class Requests:
    """Changes of program that wait for the run to make them."""

    _waiting: queue.SimpleQueue[tuple[Work, Future[Changes]]] = field(default_factory=queue.SimpleQueue)

    def made_by_the_run(self, work: Work, runs: Callable[[], bool]) -> Changes:
        """Have the run do some work; if the run ends before it has begun, do it here."""
        future: Future[Changes] = Future()
        self._waiting.put((work, future))
        while True:
            try:
                return future.result(timeout=_LOOK_SECONDS)
            except NotYetError:
                if not runs() and future.cancel():
                    return work(None)

    def serve(self, then: Then) -> None:
        """Do what waits; who has asked is told what became of it."""
        while not self._waiting.empty():
            work, future = self._waiting.get()
            if not future.set_running_or_notify_cancel():
                continue
            try:
                future.set_result(work(then))
            except BaseException as error:
                future.set_exception(error)
                if not isinstance(error, PenstockError):
                    raise


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


def deployed(execution: Execution, found: Deployment, then: Then | None = None) -> Changes:
    """Make a change of program: one step, which shows what is different; or nothing has changed.

    Raises UnsupportedError for what keeps it from being made, and what its step raises.
    """
    if found.problems:
        raise UnsupportedError(found.problems)
    if execution.transaction is not None:
        raise SqlError(Diagnostic("IN_TRANSACTION", "a program cannot change in a transaction", hint="COMMIT first"))
    if not found.statements:
        return {}
    execution.sweep()
    stepper = execution.stepper
    answers = _answers(execution, found) if stepper.number else {}
    clock = execution.clock()
    widened = columns_added(execution.catalog, found.after)
    after = with_earlier(execution.catalog, found.after, widened, clock)
    wanted = execution.installation(after, found.added, found.removed, found.dropped, widened)
    earlier = {name: rows for name, rows in answers.items() if _alike(wanted, execution, name)}
    restore, number = execution.outlets.held(), stepper.number
    try:
        execution.outlets.follow(wanted.catalog, {*found.added, *found.dropped}, earlier)
        changes = stepper.replace(wanted, earlier, found.statements, StepInput(clock), then)
    except BaseException:
        if stepper.number == number:
            restore()
        raise
    execution.changes_of_program += 1
    return changes


def _answers(execution: Execution, found: Deployment) -> dict[str, pa.Table]:
    """The present answers of the views that others take the place of, where they are shown."""
    before = execution.catalog.views
    replaced = [name for name in found.removed if name in found.added and before[name].is_output]
    contents = Contents(execution.stepper, execution.clock())
    return {name: _answer(execution, contents, before[name]) for name in replaced}


def _answer(execution: Execution, contents: Contents, view: View) -> pa.Table:
    kept = contents.maintained_rows(view) if execution.stepper.stored.keeps(view) else None
    return Answer(execution.workspace, contents.answered(view.plan) if kept is None else kept).arrow()


def _alike(wanted: Installation, execution: Execution, name: str) -> bool:
    """True if a view has the columns of the one whose place it takes, so that their rows can be compared."""
    one, other = execution.catalog.views[name], wanted.catalog.views[name]
    return [(item.name, item.type) for item in one.columns] == [(item.name, item.type) for item in other.columns]
