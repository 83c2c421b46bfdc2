"""The input log on the disk: what a manifest holds, that it is readable whatever happens, and what fails cleanly."""

from __future__ import annotations

import json
import os
import time
from functools import partial

import pyarrow.parquet as pq
import pytest
from pyarrow import feather

import penstock
from penstock.steps.interrupts import InterruptedAfterStep

PROGRAM = """
SET TIME ZONE 'Europe/Rome';
CREATE TABLE orders (id INT PRIMARY KEY, amount INT) WITH ('connector' = 'files', 'path' = '{folder}/in');
CREATE TABLE clicks (page VARIANT, at TIMESTAMP LATENESS INTERVAL 1 HOUR);
CREATE VIEW shares AS SELECT id, 100 / amount AS share FROM orders;
"""


def put(folder, name, lines):
    path = folder / "in" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    os.utime(path, (time.time() - 10, time.time() - 10))
    return path.stat().st_size


def manifests(folder):
    return [json.loads(path.read_text()) for path in sorted((folder / "log" / "steps").iterdir())]


def test_a_manifest_has_all_that_a_replay_needs(spark, tmp_path):
    size = put(tmp_path, "a.json", [{"id": number, "amount": number % 3} for number in (1, 2, 3, 4)])
    with penstock.Pipeline(PROGRAM.format(folder=tmp_path), spark=spark, directory=tmp_path / "state") as pipeline:
        pipeline.step({"clicks": [({"to": "home"}, "2024-01-01 10:00:00")]}, clock="2024-01-01 12:00:00")
        pipeline.execute("ADVANCE clicks.at TO TIMESTAMP '2024-01-01 15:00:00'", clock="2024-01-01 16:00:00")
        with pytest.raises(penstock.DataError, match="cannot go back"):
            pipeline.step(clock="2023-01-01 00:00:00")
        pipeline.execute("CREATE VIEW pages AS SELECT COUNT(*) AS n FROM clicks")
        declared = json.loads((tmp_path / "state" / "log" / "declarations.json").read_text())
        pipeline.run(once=True)
        clicks = [tuple(row) for row in pipeline.query("SELECT CAST(page AS STRING) FROM clicks").rows]
    assert clicks == [('{"to":"home"}',)]

    first, second, *read = manifests(tmp_path / "state")
    assert first["session"] == {"dialect": "penstock", "ansi": True, "time zone": "Europe/Rome"}
    assert [text.split()[:2] for text in first["declarations"]] == [
        ["SET", "TIME"],
        ["CREATE", "TABLE"],
        ["CREATE", "TABLE"],
        ["CREATE", "VIEW"],
    ]
    assert first["waterlines"] == {"clicks.at": "2024-01-01 08:00:00"}
    assert feather.read_table(tmp_path / "state" / "log" / first["tables"]["clicks"]["file"]).num_rows == 1
    assert (second["advances"], second["clock"]) == (
        [["clicks.at", "2024-01-01 14:00:00"]],
        "2024-01-01T16:00:00",
    )
    assert second["declarations"] == []
    assert (declared["after"], declared["declarations"]) == (
        2,
        ["CREATE VIEW pages AS SELECT COUNT(*) AS n FROM clicks"],
    )
    # The row whose amount is 0 is set aside, in the one step that has read the file.
    assert read[0]["declarations"] == declared["declarations"]
    assert [
        [(item["path"], item["from"], item["to"]) for item in found["sources"]["orders"]["read"]] for found in read
    ] == [[(str(tmp_path / "in" / "a.json"), {"offset": 0, "lines": 0}, {"offset": size, "lines": 4})]]
    rows = [
        pq.read_table(tmp_path / "state" / "log" / found["tables"]["orders"]["file"])
        for found in read
        if "orders" in found["tables"]
    ]
    assert sorted(number for table in rows for number in table["id"].to_pylist()) == [1, 2, 4]

    with penstock.Pipeline(PROGRAM.format(folder=tmp_path), spark=spark, directory=tmp_path / "state") as again:
        assert [tuple(row) for row in again.query("SELECT CAST(page AS STRING) FROM clicks").rows] == clicks
        assert again.query("SELECT COUNT(*) FROM orders").rows == [(3,)]
        assert again.query("SELECT n FROM pages").rows == [(1,)]
        assert again.steps == 2 + len(read)


def test_what_fails_around_the_manifest_is_a_refusal_before_it_and_a_stop_behind_it(spark, tmp_path, monkeypatch):
    put(tmp_path, "a.json", [])
    with penstock.Pipeline(PROGRAM.format(folder=tmp_path), spark=spark, directory=tmp_path / "state") as pipeline:
        pipeline.step({"orders": [(1, 10)]})

        def full(*_):
            raise OSError(28, "No space left on device")

        with monkeypatch.context() as patched:
            patched.setattr("penstock.steps.log.write_facts", full)
            with pytest.raises(OSError, match="No space left"):
                pipeline.step({"orders": [(2, 20)]})
        assert len(list((tmp_path / "state" / "log" / "data" / "orders").iterdir())) == 1
        assert pipeline.step({"orders": [(2, 50)]})["shares"].rows == [(1, (2, 2.0))]
        assert pipeline.verify("shares")

        with monkeypatch.context() as patched:
            patched.setattr("penstock.steps.views.Views.follow", full)
            with pytest.raises(penstock.InternalError) as failure:
                pipeline.step({"orders": [(3, 20)]})
        assert failure.value.code == "STATE_BEHIND_LOG"
        assert "start it again" in failure.value.render()
        for again in (lambda: pipeline.step({"orders": [(4, 1)]}), lambda: pipeline.query("SELECT * FROM orders")):
            with pytest.raises(penstock.InternalError, match="step 3 is in the log"):
                again()
    assert [found["step"] for found in manifests(tmp_path / "state")] == [1, 2, 3]


class Output:
    """Keeps what is written; the first time Ctrl-C comes just then."""

    def __init__(self, *, stops):
        self._steps = {}
        self._stops = stops

    @property
    def rows(self):
        return [row for rows in self._steps.values() for row in rows]

    def write(self, changes):
        # What was interrupted is given again: as each output does, this one takes a step once.
        self._steps[changes["n"].step] = changes["n"].rows
        if self._stops:
            self._stops = False
            raise InterruptedAfterStep

    def close(self):
        pass

    def describe(self):
        return "a list"


@pytest.mark.parametrize("call", [1, 2, 4, None])
def test_a_run_that_is_stopped_anywhere_takes_each_row_once(spark, tmp_path, monkeypatch, call):
    """Ctrl-C in a step before any has been kept, while rows at fault are looked for, and while output is written."""
    put(tmp_path, "a.json", [{"id": number, "amount": number % 3} for number in (1, 2, 3, 4)])
    program = f"""
        CREATE TABLE orders (id INT, amount INT) WITH ('connector' = 'files', 'path' = '{tmp_path}/in');
        CREATE VIEW shares AS SELECT id, 100 / amount AS share FROM orders;
        CREATE VIEW n AS SELECT COUNT(*) AS n FROM orders;"""
    with penstock.Pipeline(program, spark=spark) as pipeline:
        assert pipeline.steps == 0
        engine = pipeline._execution.stepper.engine
        calls = []

        def interrupted(work, *arguments):
            calls.append(arguments)
            if len(calls) == call:
                raise KeyboardInterrupt
            return work(*arguments)

        for name in ("step", "attempt"):
            monkeypatch.setattr(engine, name, partial(interrupted, getattr(engine, name)))
        output = Output(stops=call is None)
        with pytest.raises(KeyboardInterrupt):
            pipeline.run(once=True, outputs=[output])
        pipeline.run(once=True, outputs=[output])
        assert sorted(row[0] for row in pipeline.query("SELECT id FROM orders").rows) == [1, 2, 4]
        assert pipeline.rejected() == {("shares", "Evaluation error"): 1}
        assert sum(weight * row[0] for weight, row in output.rows) == 3
        assert pipeline.verify("shares")
