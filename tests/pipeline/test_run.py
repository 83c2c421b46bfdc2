"""The run loop over a folder: progress, broken rows, outputs, going on."""

import io
import json
import os
import signal
import time

import pyarrow.parquet as pq
import pytest

import penstock
from penstock.outputs.lines import FolderOutput, StreamOutput
from penstock.pipeline.run import RunOptions
from penstock.steps.events import RunFinished, RunStarted, StepDone


def program(folder, extra=""):
    return f"""
    CREATE TABLE orders (id INT PRIMARY KEY, amount BIGINT)
      WITH ('connector' = 'files', 'path' = '{folder}', 'format' = 'json'{extra});
    CREATE VIEW total AS SELECT COUNT(*) AS n, SUM(amount) AS total FROM orders;
    CREATE VIEW shares AS SELECT id, 100 / amount AS share FROM orders;
    """


def put(folder, name, lines):
    path = folder / f".{name}"
    path.write_text("".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines))
    os.utime(path, (time.time() - 10, time.time() - 10))
    path.rename(folder / name)


@pytest.fixture
def folder(tmp_path):
    found = tmp_path / "in"
    found.mkdir()
    return found


def test_once_reads_everything_sets_aside_what_is_broken_and_writes_changes(spark, folder, tmp_path):
    put(folder, "1.json", [{"id": 1, "amount": 10}, {"id": 2, "amount": 0}, "{broken", {"id": 3, "amount": 20}])
    put(folder, "2.json", [{"delete": {"id": 1}}, {"update": {"id": 3, "amount": 50}}])
    events = []
    lines = io.StringIO()
    with penstock.Pipeline(program(folder), spark=spark, on_event=events.append) as pipeline:
        pipeline.run(
            once=True, outputs=[StreamOutput(lines, ["total"]), FolderOutput(tmp_path / "out", views=["shares"])]
        )
        assert [tuple(row) for row in pipeline.query("SELECT * FROM orders").rows] == [(3, 50)]
        assert pipeline.rejected() == {("orders", "Bad row"): 1, ("shares", "Evaluation error"): 1}
        assert pipeline.verify("shares")
        assert pipeline.verify("total")
    assert isinstance(events[0], RunStarted)
    assert sum(isinstance(event, StepDone) for event in events) == 1
    assert isinstance(events[-1], RunFinished)
    assert events[-1].rejected == 2
    assert json.loads(lines.getvalue().splitlines()[-1])["view"] == "total"
    files = sorted((tmp_path / "out" / "shares").glob("*.parquet"))
    written = [row for path in files for row in pq.read_table(path).to_pylist()]
    assert sum(row["__weight"] for row in written) == 1
    assert {"id", "share", "__weight", "__step"} == set(written[0])


def test_nothing_that_stands_in_files_ends_a_run(spark, folder):
    """Each of these did: it is a row of `error_view`, and the others are in the table."""
    broken = ['{"id": 1, "name": "\\ud800"}', '{"update": {"id": 1}}', '{"id": 2, "day": "0000-01-01"}']
    (folder / "1.json").write_text("\n".join([*broken, '{"id": 3, "x": 1}', '{"id": 4}']))
    (folder / "1.csv").write_text(f"id,name,x\n5,{'y' * 200_000},1\n6\n")
    (folder / "1.parquet").write_text("none")
    program = "".join(
        f"CREATE TABLE {style} (id INT, name STRING, day DATE)"
        f" WITH ('connector' = 'files', 'path' = '{folder}', 'format' = '{style}');"
        for style in ("json", "csv", "parquet")
    )
    columns = "id, length(name) AS n, day"
    program += f"CREATE VIEW lengths AS SELECT {columns} FROM json UNION ALL SELECT {columns} FROM csv;"
    with penstock.Pipeline(program, spark=spark) as pipeline:
        pipeline.run(once=True)
        rows = sorted(tuple(row) for row in pipeline.query("SELECT * FROM lengths").rows)
        rejected = pipeline.rejected()
        assert pipeline.verify("lengths")
    assert rows == [(3, None, None), (4, None, None), (5, 200_000, None)]
    assert rejected == {("json", "Bad row"): 3, ("csv", "Bad row"): 1, ("parquet", "Bad file"): 1}


def test_fail_stops_before_the_step(spark, folder):
    put(folder, "1.json", [{"id": 1, "amount": 10}, "{broken"])
    with penstock.Pipeline(program(folder, ", 'on_error' = 'fail'"), spark=spark) as pipeline:
        with pytest.raises(penstock.DataError, match="not JSON"):
            pipeline.run(once=True)
        assert pipeline.steps == 0


def test_a_started_pipeline_follows_the_folder_and_goes_on_where_it_was(spark, folder):
    put(folder, "1.json", [{"id": 1, "amount": 10}])
    with penstock.Pipeline(program(folder), spark=spark) as pipeline:
        changes = pipeline.changes("total")
        pipeline.start(options=RunOptions(poll_seconds=0.05))
        assert changes.get(60).rows == [(1, (1, 10))]
        put(folder, "2.json", [{"id": 2, "amount": 5}])
        assert sorted(changes.get(60).rows) == [(-1, (1, 10)), (1, (2, 15))]
        pipeline.stop()
        put(folder, "3.json", [{"id": 3, "amount": 1}])
        pipeline.run(once=True)
        assert sorted(changes.get(60).rows) == [(-1, (2, 15)), (1, (3, 16))]
        assert pipeline.verify("total")


def test_a_started_run_that_fails_is_said_once_and_goes_on_when_started_again(spark, folder):
    put(folder, "1.json", [{"id": 1, "amount": 10}])
    with penstock.Pipeline(program(folder), spark=spark) as pipeline:
        changes = pipeline.changes("total")
        pipeline.start(options=RunOptions(poll_seconds=0.05, on_error="fail"))
        assert changes.get().rows == [(1, (1, 10))]
        assert pipeline.status.state == "running"
        put(folder, "2.json", ["{broken"])
        with pytest.raises(penstock.DataError, match="not JSON") as waiting:
            changes.get()
        assert waiting.value.code == "RUN_FAILED"
        assert (pipeline.status.state, pipeline.status.step) == ("failed", pipeline.steps)
        with pytest.raises(penstock.DataError, match="not JSON"):
            pipeline.query("SELECT * FROM total")
        assert pipeline.query("SELECT n FROM total").rows[0][0] == 1
        later = pipeline.changes("total")
        with pytest.raises(penstock.DataError, match="not JSON"):  # and waits for ever for no run
            later.get()
        put(folder, "3.json", [{"id": 3, "amount": 5}])
        pipeline.start(options=RunOptions(poll_seconds=0.05))
        assert sorted(changes.get().rows) == [(-1, (1, 10)), (1, (2, 15))]
        assert sorted(later.get().rows) == [(-1, (1, 10)), (1, (2, 15))]
        pipeline.stop()
        assert pipeline.status.state == "stopped"


def test_steps_grow_under_load(spark, folder):
    put(folder, "1.json", [{"id": number, "amount": 1} for number in range(4000)])
    events = []
    with penstock.Pipeline(program(folder), spark=spark, on_event=events.append) as pipeline:
        pipeline.run(once=True, options=RunOptions(first_rows=100, quick_seconds=60))
    sizes = [event.received["orders"] for event in events if isinstance(event, StepDone) and event.received]
    assert sizes[:4] == [100, 200, 400, 800]
    assert sum(sizes) == 4000


def test_a_program_without_a_source_has_nothing_to_follow(spark):
    program = "CREATE TABLE t (a INT); CREATE VIEW v AS SELECT * FROM t"
    with (
        penstock.Pipeline(program, spark=spark) as pipeline,
        pytest.raises(penstock.DataError, match="nothing to follow"),
    ):
        pipeline.run()


class Finalized:
    """Ctrl-C comes while it is taken away: what it raises there is dropped."""

    def __del__(self):
        signal.raise_signal(signal.SIGINT)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_ctrl_c_within_a_finalizer_ends_the_run_too(folder):
    put(folder, "1.json", [{"id": 1, "amount": 10}])

    def interrupt(event):
        if isinstance(event, RunStarted):
            Finalized()

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with penstock.Pipeline(program(folder), engine="native", on_event=interrupt) as pipeline:
            pipeline.run()
            assert pipeline.steps == 0
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, before)
