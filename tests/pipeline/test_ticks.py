"""Views that read the clock: a step for the clock alone is made when it changes something, and only then."""

import json
from collections.abc import Iterator
from datetime import date, datetime, timedelta

import pytest

import penstock
from penstock.pipeline.run import RunOptions
from penstock.steps.events import StepDone

START = datetime.fromisoformat("2024-02-28 23:59:00")
PROGRAM = """
SET engine = 'native';
CREATE TABLE t (id INT, at TIMESTAMP) WITH ('connector' = 'files', 'path' = '{folder}', 'format' = 'json');
CREATE VIEW recent AS SELECT id FROM t WHERE at > now() - INTERVAL 10 SECONDS;
CREATE VIEW today AS SELECT current_date() AS day, COUNT(*) AS n FROM t;
"""


class Clock:
    """A clock that goes a second each time the loop looks at it for a tick, and ends the run after the last."""

    def __init__(self, pipeline: penstock.Pipeline, seconds: int) -> None:
        self.at, self.pipeline, self.last = START, pipeline, START + timedelta(seconds=seconds)

    def __call__(self) -> datetime:
        self.at += timedelta(seconds=1)
        if self.at > self.last:
            self.pipeline.stop()
        return self.at


@pytest.fixture
def ran(tmp_path, monkeypatch) -> Iterator[tuple[penstock.Pipeline, list[StepDone]]]:
    """A pipeline that has followed its folder, in which one row lies, for five minutes of its clock."""
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "a.json").write_text(json.dumps({"id": 1, "at": "2024-02-28 23:59:20"}) + "\n")
    events: list[object] = []
    directory = tmp_path / "directory"
    with penstock.Pipeline(PROGRAM.format(folder=folder), directory=directory, on_event=events.append) as pipeline:
        clock = Clock(pipeline, 300)
        monkeypatch.setattr(pipeline, "_now", clock)
        pipeline.query("SELECT 1")
        pipeline.run(options=RunOptions(poll_seconds=0.001, clock_resolution=0.0))
        yield pipeline, [event for event in events if isinstance(event, StepDone)]


def test_steps_are_made_when_something_is_due(ran) -> None:
    """The row comes, leaves after ten seconds, and the day ends: nothing else is a step."""
    pipeline, steps = ran
    assert pipeline.steps == len(steps) <= 4
    assert pipeline.query("SELECT id FROM recent").rows == []
    assert pipeline.query("SELECT day, n FROM today").rows == [(date(2024, 2, 29), 1)]


def test_the_log_has_no_trace_of_other_ticks(ran, tmp_path) -> None:
    """Who opens the directory again finds these steps alone."""
    pipeline, steps = ran
    manifests = sorted((tmp_path / "directory" / "log" / "steps").glob("*.json"))
    assert len(manifests) == len(steps) == pipeline.steps
    pipeline.close()
    with penstock.Pipeline(PROGRAM.format(folder=tmp_path / "in"), directory=tmp_path / "directory") as again:
        assert again.query("SELECT id FROM recent").rows == []
        assert again.steps == len(steps)
