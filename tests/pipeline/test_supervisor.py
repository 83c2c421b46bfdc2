"""A run on a thread of its own: what is said of its end, by whom, and how often. No Spark: the loops are made up."""

import threading
from datetime import datetime

import pytest

import penstock
from penstock.pipeline.subscription import Subscription
from penstock.pipeline.supervisor import Supervisor, run_failed
from penstock.steps.change import Change

A_CHANGE = Change("v", ("x",), 1, datetime(2025, 1, 1), None)  # noqa: DTZ001 - UTC


class Follows:
    """A loop that runs until it is stopped, and then raises `error` if it has one."""

    def __init__(self, error=None):
        self.error = error
        self.stopped = threading.Event()

    def run(self, *, once):
        if not once:
            self.stopped.wait()
        if self.error is not None:
            raise self.error

    def stop(self):
        self.stopped.set()


def failed(error, told=lambda _: None):
    """A supervisor whose thread has ended with `error`, and has told of it."""
    over = threading.Event()

    def heard(found):
        told(found)
        over.set()

    supervisor, loop = Supervisor(heard), Follows(error)
    supervisor.start(loop)
    loop.stop()
    over.wait()
    return supervisor


def test_a_run_is_running_until_it_is_stopped():
    supervisor = Supervisor(pytest.fail)
    assert supervisor.state == "stopped"
    supervisor.start(Follows())
    assert supervisor.state == "running"
    supervisor.stop()
    assert (supervisor.state, supervisor.error) == ("stopped", None)
    supervisor.check()


def test_there_is_one_run_at_a_time():
    supervisor, other = Supervisor(pytest.fail), Follows()
    supervisor.start(Follows())
    for begin in (supervisor.start, lambda loop: supervisor.run(loop, once=False)):
        with pytest.raises(penstock.DataError, match="runs already"):
            begin(other)
    supervisor.stop()
    other.stop()
    supervisor.run(other, once=False)
    assert supervisor.state == "stopped"


def test_the_first_call_says_the_error_of_a_thread_and_what_would_work():
    supervisor = failed(OSError("the disk is gone"))
    with pytest.raises(penstock.DataError) as said:
        supervisor.check()
    assert said.value.code == "RUN_FAILED"
    assert "OSError: the disk is gone" in said.value.render()
    assert "`run()` or `start()`" in said.value.render()
    assert isinstance(said.value.__cause__, OSError)
    supervisor.check()
    supervisor.stop()
    assert (supervisor.state, str(supervisor.error)) == ("failed", "the disk is gone")


def test_stop_has_let_go_of_the_run_before_it_raises():
    supervisor = failed(OSError("the disk is gone"))
    with pytest.raises(OSError, match="the disk is gone"):
        supervisor.stop()
    supervisor.stop()
    supervisor.check()
    assert supervisor.state == "failed"


def test_an_error_at_the_end_of_the_last_step_comes_out_of_stop():
    supervisor = Supervisor(lambda _: None)
    supervisor.start(Follows(OSError("too late")))
    with pytest.raises(OSError, match="too late"):
        supervisor.stop()
    supervisor.stop()


def test_a_run_after_a_failed_one_begins_anew():
    supervisor = failed(OSError("the disk is gone"))
    supervisor.start(Follows())
    assert (supervisor.state, supervisor.error) == ("running", None)
    supervisor.check()
    supervisor.stop()
    assert supervisor.state == "stopped"


def test_an_error_of_run_comes_out_of_the_call_and_is_not_said_again():
    supervisor = Supervisor(pytest.fail)
    with pytest.raises(OSError, match="gone"):
        supervisor.run(Follows(OSError("gone")), once=True)
    assert supervisor.state == "failed"
    supervisor.check()
    supervisor.stop()
    supervisor.run(Follows(), once=True)
    assert (supervisor.state, supervisor.error) == ("stopped", None)


def test_who_waits_for_changes_is_told_once_and_hears_of_the_next_run():
    subscription = Subscription("v", lambda _: None)
    said = []

    def waits():
        try:
            next(subscription)
        except penstock.DataError as error:
            said.append(error.code)

    waiter = threading.Thread(target=waits)
    waiter.start()
    failed(OSError("gone"), lambda error: subscription.fail(run_failed(error)))
    waiter.join()
    assert said == ["RUN_FAILED"]
    subscription.offer(A_CHANGE)
    assert subscription.get() is A_CHANGE


def test_a_subscription_gives_what_came_before_the_error_first():
    subscription = Subscription("v", lambda _: None)
    subscription.offer(A_CHANGE)
    subscription.fail(run_failed(OSError("gone")))
    assert subscription.get() is A_CHANGE
    with pytest.raises(penstock.DataError, match="OSError: gone"):
        subscription.get()
    assert subscription.get(0) is None


def test_a_pipeline_that_has_not_run_is_stopped_and_starts_no_jvm():
    status = penstock.Pipeline("CREATE TABLE t (a INT)").status
    assert (status.state, status.step, status.clock, status.error) == ("stopped", 0, None, None)
