"""A log that is cut: what going on and histories need is there, and nothing else; what cannot be made again is said."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path

import pytest

import penstock
from penstock.errors import DataError, SqlError
from penstock.pipeline.inspection import directory_facts
from penstock.steps.events import Event, StateNotKept

PROGRAM = """
SET state_seconds = '0';
SET log_retention = 'recovery';
CREATE TABLE t (id INT PRIMARY KEY, k INT);
CREATE STREAM s (k INT) WITH ('history' = 'none');
CREATE STREAM r (k INT) WITH ('history' = '3 minutes');
CREATE STREAM w (ts TIMESTAMP, k INT, WATERMARK FOR ts AS ts - INTERVAL 1 HOUR) WITH ('history' = 'none');
CREATE MATERIALIZED VIEW counted AS SELECT k, COUNT(*) AS n FROM s GROUP BY k;
CREATE MATERIALIZED VIEW recent AS SELECT k, COUNT(*) AS n FROM r GROUP BY k;
CREATE MATERIALIZED VIEW waited AS SELECT COUNT(*) AS n FROM w;
"""
START = datetime(2030, 1, 1)  # noqa: DTZ001 - UTC


def opened(folder: Path, program: str = PROGRAM, **more: object) -> penstock.Pipeline:
    return penstock.Pipeline(program, directory=folder, engine="native", **more)  # type: ignore[arg-type]


def stepped(pipeline: penstock.Pipeline, first: int, last: int) -> None:
    for step in range(first, last + 1):
        clock = START + timedelta(minutes=step)
        rows = {"t": [(step, step % 3)], "s": [(step % 2,)], "r": [(step,)], "w": [(clock, step)]}
        pipeline.step(rows, clock=clock)


def numbers(folder: Path) -> list[int]:
    return sorted({int(path.name[:12]) for path in folder.glob("0*")})


def answers(pipeline: penstock.Pipeline) -> dict[str, list[tuple[object, ...]]]:
    asked = "counted", "recent", "waited", "t"
    return {name: sorted(pipeline.query(f"SELECT * FROM {name}").rows) for name in asked}


@pytest.fixture
def cut(tmp_path: Path) -> Path:
    with opened(tmp_path / "dir") as pipeline:
        stepped(pipeline, 1, 10)
    return tmp_path / "dir"


def test_only_what_two_snapshots_and_histories_need_is_kept(cut: Path) -> None:
    assert numbers(cut / "state") == [9, 10]
    assert numbers(cut / "log" / "steps") == [9, 10]
    data = cut / "log" / "data"
    assert numbers(data / "s") == numbers(data / "w") == [9, 10]
    assert numbers(data / "t") == list(range(1, 11))
    assert numbers(data / "r") == [6, 7, 8, 9, 10]  # of the last three minutes at step 9
    facts = directory_facts(cut)
    assert (facts.first_step, facts.step) == (9, 10)


def test_it_goes_on_with_the_answers_of_one_that_is_whole(cut: Path, tmp_path: Path) -> None:
    with opened(tmp_path / "whole", PROGRAM.replace("'recovery'", "'all'")) as whole:
        stepped(whole, 1, 14)
        with opened(cut) as pipeline:
            stepped(pipeline, 11, 14)
            assert answers(pipeline) == answers(whole)
    assert numbers(tmp_path / "whole" / "log" / "steps") == list(range(1, 15))


def test_the_older_snapshot_is_taken_if_the_last_is_damaged(cut: Path) -> None:
    with opened(cut) as pipeline:
        expected = answers(pipeline)
    (cut / "state" / "000000000010" / "memory.bin").write_bytes(b"")
    with opened(cut) as pipeline:
        assert pipeline.steps == 10
        assert answers(pipeline) == expected
        stepped(pipeline, 11, 12)
    assert numbers(cut / "log" / "steps") == [11, 12]


def other_code(folder: Path) -> dict[str, object]:
    for path in folder.glob("state/*/header.json"):
        header = json.loads(path.read_text())
        header["origin"]["release"] = "0.0"
        path.write_text(json.dumps(header))
    return {}


def rebuilt(folder: Path) -> dict[str, object]:
    return {"rebuild": True}


@pytest.mark.parametrize("happens", [other_code, rebuilt])
def test_what_cannot_be_made_again_is_refused_and_nothing_is_lost(
    cut: Path, tmp_path: Path, happens: Callable[[Path], dict[str, object]]
) -> None:
    whole = shutil.copytree(cut, tmp_path / "copy")
    more = happens(cut)
    pipeline = opened(cut, **more)
    with pytest.raises(DataError, match="begins with step 9") as refused:
        pipeline.query("SELECT 1")
    assert refused.value.code == "LOG_GONE"
    pipeline.close()
    assert numbers(cut / "log" / "steps") == [9, 10]
    assert numbers(cut / "state") == numbers(whole / "state")
    with opened(whole) as pipeline:
        assert pipeline.steps == 10


def test_a_table_that_is_dropped_takes_its_files_along_when_no_snapshot_has_it(cut: Path) -> None:
    with opened(cut) as pipeline:
        pipeline.execute("CREATE TABLE more (k INT)")
        pipeline.step({"more": [(1,)]}, clock=START + timedelta(minutes=11))
        pipeline.execute("DROP TABLE more")
        files = cut / "log" / "data" / "more"
        assert numbers(files) == [11]
        for minute in (12, 13, 14):
            pipeline.step({"s": [(1,)]}, clock=START + timedelta(minutes=minute))
        assert numbers(files) == []


def test_it_is_cut_when_it_is_asked_for_later(tmp_path: Path) -> None:
    folder = tmp_path / "dir"
    with opened(folder, PROGRAM.replace("'recovery'", "'all'")) as pipeline:
        stepped(pipeline, 1, 5)
        assert numbers(folder / "log" / "steps") == [1, 2, 3, 4, 5]
        pipeline.execute("SET log_retention = 'recovery'")
        stepped(pipeline, 6, 7)
    assert numbers(folder / "log" / "steps") == [6, 7]


@pytest.mark.spark
def test_it_is_said_that_a_log_is_not_cut_since_operators_work_on_spark(tmp_path: Path) -> None:
    told: list[str] = []

    def hear(event: Event) -> None:
        if isinstance(event, StateNotKept):
            told.append(event.message)

    with penstock.Pipeline(PROGRAM, directory=tmp_path / "dir", engine="spark", on_event=hear) as pipeline:
        stepped(pipeline, 1, 3)
    assert told == ["the log is not cut: operators work on Spark, whose state is made again from it"]
    assert numbers(tmp_path / "dir" / "log" / "steps") == [1, 2, 3]


def test_another_value_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SqlError, match="log_retention cannot be 'recover'") as refused:
        opened(tmp_path / "dir", PROGRAM.replace("'recovery'", "'recover'")).check()
    assert refused.value.diagnostics[0].candidates == ("recovery",)
