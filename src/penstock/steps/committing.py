"""The second half of a step: the log has it from here on, and all that is remembered follows."""

from __future__ import annotations

from penstock.errors import Diagnostic, InternalError, PenstockError, message_of
from penstock.steps.proposing import Proposal, abandoned
from penstock.steps.rows.rejected import counts
from penstock.steps.state import State


class StateBehindLogError(PenstockError):
    """The log has a step that the disk has not confirmed, or which the state could not follow."""


class StateLostError(StateBehindLogError, InternalError):
    """The log has a step which the state could not follow."""


def commit(state: State, proposal: Proposal) -> None:
    """Let a step happen.

    What fails before its manifest is there leaves no trace. StateBehindLogError if the state could not follow the log,
    or if the manifest is there and the disk has not confirmed it: nothing may be built on it.
    """
    try:
        if not proposal.staged.exists:
            state.log.publish(proposal.staged)
    except BaseException as error:
        if isinstance(error, Exception) and state.log.manifest_of(proposal.number).exists():
            raise StateBehindLogError(
                _behind(proposal, f"the disk has not confirmed it: {message_of(error)}")
            ) from error
        raise abandoned(state, error, proposal.result, proposal.staged) from error
    try:
        _follow(state, proposal)
    except Exception as error:
        raise StateLostError(_behind(proposal, f"the state could not follow it: {message_of(error)}")) from error


def _behind(proposal: Proposal, why: str) -> Diagnostic:
    message = f"step {proposal.number} is in the log, but {why}"
    hint = "nothing more is taken in; close the pipeline and start it again"
    return Diagnostic("STATE_BEHIND_LOG", message, hint=hint)


def _follow(state: State, proposal: Proposal) -> None:
    given = proposal.given
    state.log.adopt(proposal.staged, state.catalog.table)
    proposal.result.commit()
    state.tables.follow(proposal.intakes, given.advances)
    state.views.follow(proposal.shown)
    for promise in proposal.shown.promises:
        state.engine.move_gate(promise.view, promise.gate)
    for key, number in counts(given.rejections.rows).items():
        state.rejected[key] = state.rejected.get(key, 0) + number
    state.number, state.clock = proposal.number, given.clock
    state.declared.statements.clear()
    if not proposal.staged.exists:
        state.differing.rows.clear()  # the step has shown it
