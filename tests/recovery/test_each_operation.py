"""Each file operation of a step, a change of program, a run, a snapshot, an opening: it fails, or the process ends."""

from __future__ import annotations

import errno
from itertools import count

import pytest
from tests.recovery.disasters import Disaster
from tests.recovery.machine import Recovering
from tests.tiers import EXTENDED, either

ROWS = {"keyed": [("+", (1, 1, 1)), ("+", (2, 2, 3))], "bag": [(1, 1), (2, None), 0], "timed": [(-3, 1), (0, 2)]}
FAILS = {
    "error": lambda number: Disaster("error", number, errno=errno.EIO),
    "full": lambda number: Disaster("full", number, errno=errno.ENOSPC),
    "kill": lambda number: Disaster("kill", number),
}


def step(machine, number, disaster):
    machine.rows_come(rows=ROWS, later=5, disaster=disaster)


def step_kept(machine, number, disaster):
    machine.rows_come(rows=ROWS, later=5, disaster=disaster)
    machine.a_snapshot_is_written(disaster=None)  # from which it goes on, if no output lacks the step
    machine.it_is_killed()


def deploy(machine, number, disaster):
    machine.the_program_changes(chosen={"sums": number % 3, "pairs": number % 2, "best": number % 2}, disaster=disaster)
    machine.the_clock_ticks(later=1, disaster=None)  # the step that the change would have been is another then
    machine.it_is_killed()


def run(machine, number, disaster):
    machine.a_file_comes(rows=[(number, 1), (number, 2)])
    machine.it_runs(disaster=disaster)


def run_alone(machine, number, disaster):  # nothing has come, so that it is done as often as the one before
    machine.it_is_killed()
    machine.it_runs(disaster=disaster)


def run_again(machine, number, disaster):
    machine.a_file_comes(rows=[(number, 1), (number, 2)])
    run_alone(machine, number, disaster)


def snapshot(machine, number, disaster):
    machine.rows_come(rows=ROWS, later=5, disaster=None)
    machine.a_snapshot_is_written(disaster=disaster)


def opening(machine, number, disaster):  # no more steps, for each would add operations
    machine.it_is_opened_again_under_a_disaster(disaster=disaster)


DONE = (step, step_kept, deploy, run, run_again, snapshot, opening)


@pytest.mark.both
@pytest.mark.parametrize(
    ("what", "fails"),
    [
        pytest.param(what, fails, marks=() if (what, fails) == (step, "error") else pytest.mark.extended)
        for what in DONE
        for fails in FAILS
    ],
    ids=[f"{what.__name__}-{fails}" for what in DONE for fails in FAILS],
)
def test_any_operation_may_fail(what, fails):
    each_operation_fails(what, fails)


@pytest.mark.extended
@pytest.mark.parametrize("fails", FAILS)
@pytest.mark.parametrize("what", [step_kept, deploy])
def test_any_operation_may_fail_where_each_step_writes_the_state_and_cuts_the_log(what, fails):
    each_operation_fails(what, fails, seconds="0", retention="recovery")


def first_that_meets_none(machine, what, fails, by):
    """The number of the operation, the first that it does not come to."""
    for number in count(1, by):
        machine.met = False
        what(machine, number, FAILS[fails](number))
        if not machine.met:
            return number
    raise AssertionError


def each_operation_fails(what, fails, **settings):
    machine = Recovering()
    try:
        machine.begins(**{"seconds": "1000", **settings})
        machine.rows_come(rows=ROWS, later=5, disaster=None)
        by = 1 if EXTENDED and (what, fails) == (step, "error") else 3  # it takes a while to open it again
        assert first_that_meets_none(machine, what, fails, by) > 3
    finally:
        machine.teardown()


@pytest.mark.both
def test_a_file_that_cannot_be_read_while_a_run_finds_where_it_was_is_not_read_twice():
    machine = Recovering()
    try:
        machine.begins(seconds="1000")
        machine.a_file_comes(rows=[(1, 1), (2, None)])
        machine.it_runs(disaster=None)
        assert first_that_meets_none(machine, run_alone, "error", either(3, 1)) > 2
    finally:
        machine.teardown()
