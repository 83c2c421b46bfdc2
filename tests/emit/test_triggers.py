"""Triggers by the clock: what is due in a step, and when the next one is wanted."""

from __future__ import annotations

from datetime import datetime, timedelta
from decimal import Context, Decimal, localcontext

import pyarrow as pa
import pytest

from penstock.emit.dressing import differences
from penstock.emit.triggers import AfterDelay, EachTick, Given, WhenClosed
from penstock.plan.emission import Batch, Content, EmitClause
from penstock.plan.showing import Showing

START = datetime(2024, 1, 1)  # noqa: DTZ001 - UTC
SECOND = timedelta(seconds=1)


def rows(*values):
    return pa.table(
        {"k": pa.array([k for k, _ in values], pa.int64()), "w": pa.array([w for _, w in values], pa.int64())}
    )


def given(seconds, change=None, *, arrived=None, below=0, everything=False):
    def closed(found):
        return pa.array([k < below for k in found.column(0).to_pylist()], pa.bool_())

    arrived = change is not None if arrived is None else arrived
    return Given(change, START + seconds * SECOND, arrived, closed, everything)


def ticks(**options):
    return EachTick(2 * SECOND, START, Content.FULL, **options)


def listed(due):
    return None if due is None else sorted(zip(*due.to_pydict().values(), strict=True))


def test_a_tick_shows_what_there_is_and_is_silent_until_rows_come():
    fired = ticks().fired(given(1, rows((1, 1))))
    assert fired.due is None
    assert fired.timer == START + 2 * SECOND
    fired = fired.then.fired(given(2))
    assert listed(fired.due) == [(1, 1)]
    assert fired.timer is None
    fired = fired.then.fired(given(4))
    assert fired.due is None
    fired = fired.then.fired(given(4.5, rows((2, 1))))
    assert (fired.due, fired.timer) == (None, START + 6 * SECOND)
    assert listed(fired.then.fired(given(6)).due) == [(1, 1), (2, 1)]


def test_a_tick_that_repeats_does_not_wait_for_rows():
    fired = ticks(repeats=True).fired(given(0, rows((1, 1))))
    for at in (2, 4):
        fired = fired.then.fired(given(at))
        assert listed(fired.due) == [(1, 1)]
        assert fired.timer == START + (at + 2) * SECOND


def test_a_clock_that_jumps_far_fires_once_and_keeps_the_beat():
    fired = ticks().fired(given(1, rows((1, 1))))
    fired = fired.then.fired(given(101, rows((2, 1))))
    assert listed(fired.due) == [(1, 1), (2, 1)]  # the input of the step comes first
    fired = fired.then.fired(given(101.5, rows((3, 1))))
    assert (fired.due, fired.timer) == (None, START + 102 * SECOND)


def test_rows_after_silent_ticks_wait_for_the_next_one():
    fired = ticks().fired(given(0))
    fired = fired.then.fired(given(7.5, rows((1, 1))))
    assert (fired.due, fired.timer) == (None, START + 8 * SECOND)


def test_a_closed_row_is_shown_a_last_time():
    fired = ticks().fired(given(1, rows((1, 1), (5, 1))))
    fired = fired.then.fired(given(2, below=3))
    assert listed(fired.due) == [(1, 1), (5, 1)]
    fired = fired.then.fired(given(3, rows((6, 1))))
    assert listed(fired.then.fired(given(4)).due) == [(5, 1), (6, 1)]


@pytest.mark.parametrize("everything", [False, True])
def test_rows_wait_until_they_are_closed_or_nothing_follows(everything):
    fired = WhenClosed().fired(given(0, rows((1, 1), (5, 2))))
    assert (fired.due, fired.then.holds) == (None, True)
    fired = fired.then.fired(given(1, rows((1, -1), (2, 1)), below=3, everything=everything))
    assert listed(fired.due) == ([(2, 1), (5, 2)] if everything else [(2, 1)])
    assert fired.then.holds is not everything


def test_changes_within_a_delay_are_one():
    waiting = AfterDelay(2 * SECOND, (), when_closed=False)
    fired = waiting.fired(given(0, rows((1, 1))))
    assert (fired.due, fired.timer) == (None, START + 2 * SECOND)
    fired = fired.then.fired(given(1, rows((1, -1), (2, 1))))
    fired = fired.then.fired(given(2, rows((3, 1))))
    assert listed(fired.due) == [(2, 1), (3, 1)]
    assert fired.timer is None


def test_a_closed_group_does_not_wait_for_its_delay():
    waiting = AfterDelay(9 * SECOND, (0,), when_closed=True)
    fired = waiting.fired(given(0, rows((1, 1), (5, 1))))
    fired = fired.then.fired(given(1, below=3))
    assert listed(fired.due) == [(1, 1)]
    assert fired.timer == START + 9 * SECOND


def test_a_difference_of_decimals_is_exact():
    least = Decimal("0.01")
    largest = Decimal("9" * 36 + ".99")
    due = pa.table(
        {
            "k": pa.array([1, 1], pa.int64()),
            "d": _decimals(largest, least),
            "w": pa.array([-1, 1], pa.int64()),
        }
    )
    showing = Showing(EmitClause(), Content.DELTA, Batch(), 2, groups=(0,))
    assert differences(due, showing).to_pydict() == {"k": [1], "d": [least], "w": [1]}


def _decimals(largest, least):
    with localcontext(Context(prec=40)):
        return pa.array([largest - least, largest], pa.decimal128(38, 2))
