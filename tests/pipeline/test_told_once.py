"""A step is told once: whoever raises on hearing of it, it has happened, is not read again, and reaches all outputs."""

import errno
import json
from types import SimpleNamespace

import pytest

import penstock
from penstock.pipeline.outbox import Outbox
from penstock.pipeline.run import RunOptions
from penstock.steps.events import OutputFailed, StepDone

COUNT = "CREATE VIEW n AS SELECT COUNT(*) AS n FROM t;"


def put(folder, name, numbers):
    folder.mkdir(exist_ok=True)
    (folder / f".{name}").write_text("".join(json.dumps({"x": number}) + "\n" for number in numbers))
    (folder / f".{name}").rename(folder / name)


def program(folder):
    return f"CREATE TABLE t (x INT) WITH ('connector' = 'files', 'path' = '{folder}', 'format' = 'json'); {COUNT}"


class OwnMistakeError(Exception):
    """What a listener raises."""


class Written:
    """An output that fails a number of times before it takes a step."""

    def __init__(self, failures=0, name="memory"):
        self.failures = failures
        self.name = name
        self.steps = []

    def write(self, changes):
        if self.failures:
            self.failures -= 1
            raise OSError(errno.ENOSPC, "no room")
        self.steps.append((changes["n"].step, sorted(changes["n"].rows)))

    def close(self):
        """Nothing is left open."""

    def describe(self):
        return self.name


class RaisesOnce:
    def __init__(self):
        self.raised = False

    def __call__(self, event):
        if isinstance(event, StepDone) and not self.raised:
            self.raised = True
            raise OwnMistakeError


def count(pipeline):
    return pipeline.query("SELECT COUNT(*) FROM t").rows[0][0]


def test_a_listener_that_raises_is_heard_and_the_step_has_happened(spark):
    with penstock.Pipeline(f"CREATE TABLE t (x INT); {COUNT}", spark=spark, on_event=RaisesOnce()) as pipeline:
        changes = pipeline.changes("n")
        with pytest.raises(OwnMistakeError):
            pipeline.step({"t": [(1,), (2,)]})
        assert (pipeline.steps, count(pipeline)) == (1, 2)
        assert changes.get().rows == [(1, (2,))]
        assert sorted(pipeline.step({"t": [(3,)]})["n"].rows) == [(-1, (2,)), (1, (3,))]


def test_a_run_whose_listener_raises_goes_on_behind_the_step(spark, tmp_path):
    put(tmp_path / "in", "1.json", [1, 2, 3])
    output = Written()
    with penstock.Pipeline(program(tmp_path / "in"), spark=spark, on_event=RaisesOnce()) as pipeline:
        with pytest.raises(OwnMistakeError):
            pipeline.run(once=True, outputs=[output])
        put(tmp_path / "in", "2.json", [4])
        pipeline.run(once=True, outputs=[output])
        assert count(pipeline) == 4
    assert output.steps[0] == (1, [(1, (3,))])
    assert output.steps[1] == (2, [(-1, (3,)), (1, (4,))])


def test_an_output_that_fails_stops_the_run_and_gets_the_step_from_the_next(spark, tmp_path):
    put(tmp_path / "in", "1.json", [1, 2])
    failing, steady = Written(failures=1, name="failing"), Written(name="steady")
    with penstock.Pipeline(program(tmp_path / "in"), spark=spark) as pipeline:
        with pytest.raises(OSError, match="no room"):
            pipeline.run(once=True, outputs=[failing, steady])
        assert (pipeline.steps, failing.steps, len(steady.steps)) == (1, [], 1)
        put(tmp_path / "in", "2.json", [3])
        pipeline.run(once=True, outputs=[failing, steady])
        assert count(pipeline) == 3
    assert failing.steps == steady.steps
    assert [step for step, _ in failing.steps][:2] == [1, 2]


def test_an_output_may_be_given_the_step_until_it_takes_it(spark, tmp_path):
    put(tmp_path / "in", "1.json", [1, 2])
    events = []
    output = Written(failures=2)
    with penstock.Pipeline(program(tmp_path / "in"), spark=spark, on_event=events.append) as pipeline:
        options = RunOptions(on_output_error="retry", retry_seconds=0.0)
        pipeline.run(once=True, outputs=[output], options=options)
    assert output.steps[0] == (1, [(1, (2,))])
    assert [event.message for event in events if isinstance(event, OutputFailed)] == ["[Errno 28] no room"] * 2


def changes(step):
    """The changes of a step, by its number."""
    return {"v": SimpleNamespace(delta=None, step=step)}


class Taking:
    def __init__(self, failures=0):
        self.failures, self.taken = failures, []

    def write(self, changes):
        if self.failures:
            self.failures -= 1
            raise OSError(errno.ENOSPC, "no room")
        self.taken.append(changes["v"].step)

    def describe(self):
        return "taking"


def test_later_steps_wait_behind_the_one_that_an_output_has_not_taken():
    slow, quick, outbox = Taking(failures=2), Taking(), Outbox()
    for step in (1, 2):
        outbox.put([slow, quick], step, changes(step))
        assert [output for output, _ in outbox.deliver()] == [slow]
    assert (slow.taken, quick.taken, outbox.is_empty) == ([], [1, 2], False)
    assert outbox.deliver() == []
    assert (slow.taken, outbox.is_empty) == ([1, 2], True)


def test_an_output_of_the_same_name_takes_what_one_before_has_not():
    before, after, outbox = Taking(failures=1), Taking(), Outbox()
    outbox.put([before], 1, changes(1))
    outbox.deliver()
    outbox.opened_again([after], 1)
    outbox.deliver()
    assert (before.taken, after.taken) == ([], [1])
