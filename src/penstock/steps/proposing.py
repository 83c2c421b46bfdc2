"""The first half of a step: everything evaluated and the log's files written, but nothing has happened yet.

batches → intake (late rows aside) → engine.step (and what is written in it) → views settled → what is shown
→ log staged
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from types import MappingProxyType
from typing import Any

from penstock.backends.api import Delta
from penstock.catalog.model import ERROR_VIEW
from penstock.engine.result import StepResult
from penstock.errors import DataError, Diagnostic
from penstock.steps.again import Again
from penstock.steps.differences import less_earlier
from penstock.steps.failures import translated
from penstock.steps.intake.fold import Intake
from penstock.steps.intake.gates import error_rows
from penstock.steps.log import Staged
from penstock.steps.manifest import Advances, step_facts
from penstock.steps.rows.refused import Refused
from penstock.steps.rows.rejected import Rejections
from penstock.steps.state import State
from penstock.steps.tables import Incoming
from penstock.steps.told import told_of
from penstock.steps.views import Shown
from penstock.steps.waterlines import lines_after
from penstock.steps.written import Written, inputs_of, moment_of, own_batches

_NOTHING: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class StepInput:
    """The input of a step; `sources` tells the log where the rows come from.

    With `ended` nothing will follow: what WATERMARK holds back is released. With `spares` rows for which a view raises
    are looked for (`setting_aside`), and the step goes without them: they are `refused`. A step that the log has is
    made `again`: with the effects on tables that are known, and no batches. A `tick` is made for the clock alone, and
    only if that changes anything.
    """

    clock: datetime
    batches: Sequence[Incoming] = ()
    rejections: Rejections = field(default_factory=Rejections)
    advances: Advances = ()
    ended: bool = False
    sources: Mapping[str, Any] = field(default_factory=lambda: _NOTHING)
    spares: bool = False
    refused: Refused = field(default_factory=Refused)
    again: Again | None = None
    tick: bool = False


@dataclass(frozen=True, slots=True)
class Proposal:
    """A step that has been evaluated and may now happen."""

    number: int
    given: StepInput
    intakes: Sequence[Intake]
    result: StepResult
    views: Mapping[str, Delta]
    shown: Shown
    staged: Staged

    def changes_nothing(self, timers: Mapping[str, datetime]) -> bool:
        """True if no table, view, emission or report is another after the step, and its `timers` are as they were."""
        shown = self.shown
        moved = any(not item.is_empty or item.received for item in self.intakes)
        said = shown.finished or shown.promises or self.given.rejections.rows
        return not (moved or self.views or shown.changes or said) and dict(shown.timers) == dict(timers)


def check_clock(last: datetime | None, clock: datetime) -> None:
    """Raise DataError for a clock before that of the last step: timers that have fired do not fire again."""
    if last is not None and clock < last:
        message = f"the clock cannot go back: it stands at {last}, found {clock}"
        hint = f"give {last} or a later time, in UTC, or no clock: without one the time never goes back"
        raise DataError(Diagnostic("CLOCK_BACK", message, hint=hint))


def propose(state: State, given: StepInput) -> Proposal:
    """The step that an input makes of the state; if it fails, its error is translated and it has left no trace."""
    check_clock(state.clock, given.clock)
    result: StepResult | None = None
    reported = len(given.rejections.rows)
    phase = state.stopwatch.of
    try:
        state.engine.check_session()
        with phase("intake"):
            again = given.again
            intakes = taken_in(state, given) if again is None else again.of(_plain_names(state, again))
        for item in state.targets:
            state.tables.ready(item.table, own_batches(given.batches, item.table), takes_back=item.takes_back)
        written = Written(state, given, intakes)
        inputs = inputs_of(state, intakes)
        state.stepping = given.clock
        with phase("engine"):
            result = state.engine.step(inputs, given.clock, written.following())
            rejected = len(given.rejections.rows)
            for row in error_rows(result.late):
                given.rejections.add(*row)
            views = result.settled(state.catalog.views)
        with phase("emit"):
            state.views.propose(views, state.catalog)
            state.tables.propose(intakes)
            lines = lines_after(state, given.clock, intakes, given.advances)
            moment = moment_of(state, given, intakes)
            shown = state.views.shown(
                views, lambda wanted: state.line_reader.values(wanted, lines), moment, written.emitted
            )
            if given.again is None:
                shown = less_earlier(state, shown)
        result.detach()
        with phase("log"):
            staged = _staged(state, given, intakes, rejected, shown.changes) if again is None else again.staged
    except BaseException as error:
        del given.rejections.rows[reported:]
        raise abandoned(state, error, result) from error
    return Proposal(state.number + 1, given, intakes, result, views, shown, staged)


def abandoned(
    state: State, error: BaseException, result: StepResult | None, staged: Staged | None = None
) -> BaseException:
    """The error to raise for a step that leaves no trace."""
    leave_no_trace(state, result, staged)
    return translated(error, state.catalog, state.engine.failed)


def leave_no_trace(state: State, result: StepResult | None, staged: Staged | None = None) -> None:
    """Forget a step that has been evaluated, in part or whole."""
    if staged is not None and not staged.exists:
        state.log.discard(staged)
    state.views.discard()
    if result is not None:
        result.discard()
    state.engine.release()


def taken_in(state: State, given: StepInput) -> list[Intake]:
    """The effect of the input on the tables that no statement writes into.

    Only views read the rows, so the columns that they read are enough.
    """
    judged = (given.clock, given.rejections, state.columns_read, given.refused)
    written = {item.table.name.lower() for item in state.targets}
    plain = [item for item in given.batches if item.table.name.lower() not in written]
    intakes = state.tables.fold(plain, *judged, step=state.number + 1)
    intakes += state.tables.silent(intakes, given.clock)
    if not given.ended:
        return intakes
    others = {name for name, _ in state.tables} - written
    return intakes + state.tables.released(intakes, given.rejections, given.refused, others)


def _plain_names(state: State, again: Again) -> list[str]:
    """The tables of a step that is made again into which no statement writes."""
    written = {name for item in state.targets for name in item.tables}
    return [name for name in again.intakes if name not in written]


def _staged(
    state: State, given: StepInput, intakes: Sequence[Intake], rejected: int, shown: Mapping[str, Delta]
) -> Staged:
    facts = step_facts(state.declared, intakes, given.advances, given.sources, ended=given.ended, rejected=rejected)
    changes = [(intake.table, intake.change) for intake in intakes if not intake.is_empty]
    if given.rejections.rows:
        changes.append((ERROR_VIEW, given.rejections.change()))
    arrived = {intake.table.name: intake.arrived for intake in intakes if intake.arrived is not None}
    told = told_of(state.catalog, shown) if state.log.is_durable else None
    return state.log.stage(state.number + 1, given.clock, changes, facts, arrived, told=told)
