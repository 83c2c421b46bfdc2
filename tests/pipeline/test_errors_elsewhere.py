"""An error goes to another process, or is copied, as what it is."""

from __future__ import annotations

import copy
import pickle

import pytest

import penstock
from penstock.cli.attach.client import AnsweredError
from penstock.errors import DataError, Diagnostic, PenstockError, Span, SqlError
from penstock.steps.committing import StateLostError
from penstock.steps.failures import Blamed, EvaluationError

BAD = Diagnostic("BAD_VALUE", "no such day", Span(2, 5), ("monday",), "say monday", "22007")
REPLY = {"diagnostics": [{"code": "BAD_VALUE", "message": "no such day"}], "error": "error[BAD_VALUE]: as it was shown"}
ERRORS = [
    SqlError(BAD, "a day"),
    DataError([BAD, Diagnostic("OTHER", "and more")]),
    StateLostError(BAD),
    EvaluationError(BAD, Blamed("v", "view v", "a day"), "10 / x"),
    AnsweredError(REPLY),
]


def carried(error: PenstockError) -> PenstockError:
    """The error as another process has it."""
    found: PenstockError = pickle.loads(pickle.dumps(error))  # noqa: S301 - our own
    return found


@pytest.mark.parametrize("again", [copy.copy, carried])
@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_an_error_is_the_same_elsewhere(error, again):
    found = again(error)
    assert type(found) is type(error)
    assert (str(found), found.code, found.diagnostics, found.source) == (
        str(error), error.code, error.diagnostics, error.source,
    )  # fmt: skip
    assert found.render() == error.render()
    assert vars(found) == vars(error)


def test_what_a_program_is_refused_for_is_told_in_another_process():
    with pytest.raises(PenstockError) as raised:
        penstock.Pipeline("CREATE VIEW v AS SELECT a FROM nowhere")
    found = carried(raised.value)
    assert found.render() == raised.value.render()
    assert "nowhere" in found.render()
