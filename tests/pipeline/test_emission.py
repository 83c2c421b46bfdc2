# ruff: noqa: DTZ001 - points in time are naive UTC datetimes
"""The place of a policy in a step: what it shows, what waits, a refused step, and a step that only a timer asks for."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

import pytest

import penstock
from penstock.backends.spark.change import Delta
from penstock.emit.api import Emitted
from penstock.emit.waiting import together
from penstock.pipeline.run import RunOptions

VIEW = "CREATE VIEW v WITH ('comment' = 'policy') AS SELECT 10 / x AS y FROM t;"
PROGRAM = f"CREATE TABLE t (x INT); {VIEW}"
READERS = f"{PROGRAM} CREATE VIEW reader AS SELECT COUNT(*) AS n FROM v; CREATE VIEW plain AS SELECT x FROM t;"


@dataclass(frozen=True)
class EverySecond:
    """Shows in every second step what has come in both."""

    waiting: Delta | None = None
    shows: bool = False
    goes_by = ()
    waits = False

    def after(self, change, _moment):
        waiting = together(self.waiting, change)
        return Emitted(waiting, EverySecond()) if self.shows else Emitted(None, EverySecond(waiting, shows=True))


@dataclass(frozen=True)
class Delayed:
    """Shows what has come a while after the first of it."""

    delay: timedelta
    waiting: Delta | None = None
    due: datetime | None = None
    goes_by = ()
    waits = False

    def after(self, change, moment):
        clock, waiting = moment.clock, together(self.waiting, change)
        due = self.due or (None if waiting is None else clock + self.delay)
        if due is None or clock < due:
            return Emitted(None, Delayed(self.delay, waiting, due), due)
        return Emitted(waiting, Delayed(self.delay))


@pytest.fixture
def with_policy(monkeypatch):
    def use(emission):
        def asked(view, _catalog):
            return emission if view.properties.get("comment") == "policy" else None

        monkeypatch.setattr("penstock.emit.policies.POLICIES", (asked,))

    return use


def shown(changes, view="v"):
    return sorted(changes[view].rows)


def test_a_policy_says_what_is_shown_and_delays_no_reader(spark, with_policy):
    with_policy(EverySecond())
    with penstock.Pipeline(READERS, spark=spark) as pipeline:
        first = pipeline.step({"t": [(1,), (2,)]})
        assert (shown(first), shown(first, "plain")) == ([], [(1, (1,)), (1, (2,))])
        assert shown(first, "reader") == [(1, (2,))]
        assert shown(pipeline.step({"t": [("-", (1,)), (5,)]})) == [(1, (2.0,)), (1, (5.0,))]
        assert shown(pipeline.step({"t": [(10,)]})) == []
        assert shown(pipeline.step()) == [(1, (1.0,))]
        assert pipeline.verify("v")


def test_a_refused_step_is_none_of_a_policys_steps(spark, with_policy):
    with_policy(EverySecond())
    with penstock.Pipeline(PROGRAM, spark=spark) as pipeline:
        pipeline.step({"t": [(1,)]})
        with pytest.raises(penstock.DataError):
            pipeline.step({"t": [(0,)]})
        assert shown(pipeline.step({"t": [(2,)]})) == [(1, (5.0,)), (1, (10.0,))]


def test_a_timer_is_known_until_a_step_has_passed_it(spark, with_policy):
    with_policy(Delayed(timedelta(seconds=10)))
    with penstock.Pipeline(PROGRAM, spark=spark) as pipeline:
        stepper = pipeline._opened().stepper
        assert stepper.next_timer is None
        pipeline.step({"t": [(1,)]}, clock="2024-01-01 00:00:00")
        assert stepper.next_timer == datetime(2024, 1, 1, 0, 0, 10)
        assert shown(pipeline.step({"t": [(2,)]}, clock="2024-01-01 00:00:09")) == []
        assert shown(pipeline.step(clock="2024-01-01 00:00:10")) == [(1, (5.0,)), (1, (10.0,))]
        assert stepper.next_timer is None


def test_a_dropped_view_leaves_no_timer(spark, with_policy):
    with_policy(Delayed(timedelta(days=1)))
    with penstock.Pipeline(PROGRAM, spark=spark) as pipeline:
        pipeline.step({"t": [(1,)]})
        pipeline.execute("DROP VIEW v")
        assert pipeline._opened().stepper.next_timer is None


def test_the_run_loop_makes_a_step_that_only_a_timer_asks_for(spark, with_policy, tmp_path):
    with_policy(Delayed(timedelta(seconds=1)))
    program = f"CREATE TABLE t (x INT) WITH ('connector' = 'files', 'path' = '{tmp_path}', 'format' = 'json'); {VIEW}"
    with penstock.Pipeline(program, spark=spark) as pipeline:
        changes = pipeline.changes("v")
        pipeline.step({"t": [(1,)]})
        pipeline.start(options=RunOptions(poll_seconds=0.05))
        assert changes.get().rows == [(1, (10.0,))]
        pipeline.stop()


def test_without_a_policy_there_is_no_timer(spark):
    with penstock.Pipeline(PROGRAM, spark=spark) as pipeline:
        assert shown(pipeline.step({"t": [(5,)]})) == [(1, (2.0,))]
        assert pipeline._opened().stepper.next_timer is None
