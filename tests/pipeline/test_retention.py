"""A log that is cut: what going on and histories need is there, and nothing else; what cannot be made again is said."""

from __future__ import annotations

import errno
import random
import shutil
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from tests.tiers import either

import penstock
from penstock.backends.native.store import Store
from penstock.errors import DataError, PenstockError, SqlError
from penstock.pipeline.inspection import directory_facts
from penstock.steps.checked_files import facts_of, write_facts
from penstock.steps.events import Event, StateNotKept, StateOfOtherCode

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


def of_others(folder: Path, **other: object) -> None:
    for path in folder.glob("state/*/header.json"):
        header = facts_of(path)
        header["origin"].update(other)
        write_facts(path, header)


def test_state_of_other_code_is_gone_on_from_if_it_has_the_same_form(cut: Path, tmp_path: Path) -> None:
    of_others(cut, code="0" * 24, release="0.0.1")
    assert [item.state for item in directory_facts(cut).snapshots] == ["usable", "usable"]
    told: list[Event] = []
    with (
        opened(tmp_path / "whole", PROGRAM.replace("'recovery'", "'all'")) as whole,
        opened(cut, on_event=told.append) as pipeline,
    ):
        stepped(whole, 1, 14)
        stepped(pipeline, 11, 14)
        assert answers(pipeline) == answers(whole)
    (found,) = [item for item in told if isinstance(item, StateOfOtherCode)]
    assert found.release == "0.0.1"
    assert "the log is cut" in str(found)
    assert numbers(cut / "state") == [13, 14]


def other_form(folder: Path) -> dict[str, object]:
    of_others(folder, code="0" * 24, form=0)
    return {}


def rebuilt(folder: Path) -> dict[str, object]:
    return {"rebuild": True}


@pytest.mark.parametrize("happens", [other_form, rebuilt])
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


@pytest.mark.parametrize("place", ["driver", pytest.param("executors", marks=pytest.mark.extended)])
def test_the_log_of_operators_on_spark_is_cut_as_any(interpreting: object, place: str, tmp_path: Path) -> None:
    folder, told = tmp_path / "dir", list[str]()

    def hear(event: Event) -> None:
        if isinstance(event, StateNotKept):
            told.append(event.message)

    def on_spark() -> penstock.Pipeline:
        pipeline = penstock.Pipeline(PROGRAM, directory=folder, engine="spark", on_event=hear)
        if place == "executors":
            pipeline._opening.workspace.driver_rows = -1
            pipeline._opening.workspace.memory_rows = 0
        return pipeline

    with on_spark() as pipeline:
        stepped(pipeline, 1, 4)
    assert numbers(folder / "state") == numbers(folder / "log" / "steps") == [3, 4]
    with opened(tmp_path / "whole", PROGRAM.replace("'recovery'", "'all'")) as whole, on_spark() as pipeline:
        stepped(pipeline, 5, 6)
        stepped(whole, 1, 6)
        assert answers(pipeline) == answers(whole)
    assert told == []


MIXED = """
SET state_seconds = '0';
SET log_retention = 'recovery';
SET error_history = '3';
CREATE TABLE p (id INT PRIMARY KEY, x INT, ts TIMESTAMP LATENESS INTERVAL 1 HOUR);
CREATE STREAM r (k INT) WITH ('history' = '3 minutes');
CREATE STREAM s (k INT) WITH ('history' = 'none');
CREATE MATERIALIZED VIEW counted AS SELECT k, COUNT(*) AS n FROM s GROUP BY k;
CREATE MATERIALIZED VIEW told AS SELECT COUNT(*) AS n FROM error_view;
"""
ASKED = (
    "SELECT * FROM p",
    "SELECT * FROM r",
    "SELECT * FROM counted",
    "SELECT * FROM told",
    "SELECT message FROM error_view",
    "SELECT * FROM p FOR SYSTEM_TIME AS OF TIMESTAMP '2030-01-01 00:04:00'",
)


def answered(pipeline: penstock.Pipeline, query: str) -> object:
    """The answer, or the code of the error that there is instead."""
    try:
        return sorted(pipeline.query(query).rows, key=str)
    except PenstockError as error:
        return error.code


@pytest.mark.both
@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.extended) for seed in (1, 2))])
def test_oracle_one_that_is_cut_answers_as_one_that_is_whole(seed: int, tmp_path: Path) -> None:
    """Tables that do not change in each step, versions, declared views that read what was; damage, and restarts."""
    chance = random.Random(seed)
    cut, whole = tmp_path / "cut", tmp_path / "whole"
    programs = {cut: MIXED, whole: MIXED.replace("'recovery'", "'all'")}
    pipelines = {folder: opened(folder, text) for folder, text in programs.items()}
    steps = either(13, 25)
    for step in range(1, steps):
        clock = START + timedelta(minutes=step)
        rows: dict[str, list[tuple[object, ...]]] = {}
        if chance.random() < 0.5:
            rows["p"] = [
                (chance.randint(1, 3), chance.randint(0, 9), clock - timedelta(minutes=chance.choice((0, 90))))
            ]
        if chance.random() < 0.3:
            rows["r"] = [(step,)]
        if chance.random() < 0.7:
            rows["s"] = [(chance.randint(0, 2),)]
        happens = chance.random()
        for folder, pipeline in pipelines.items():
            if step % 6 == 0:
                pipeline.execute(f"CREATE TABLE d (k INT); CREATE VIEW v{step} AS SELECT COUNT(*) AS n FROM p")
                pipeline.step({"d": [(1,)]}, clock=clock)
                pipeline.execute("DROP TABLE d")
            pipeline.step(rows, clock=clock)
            if happens < 0.3:
                pipeline.close()
                if folder == cut and happens < 0.15:
                    last = max((folder / "state").glob("0*[0-9]"))
                    (last / "memory.bin").write_bytes(b"")
                pipelines[folder] = opened(folder, programs[folder])
        found = {folder: [answered(pipeline, query) for query in ASKED] for folder, pipeline in pipelines.items()}
        assert found[cut] == found[whole], step
    for pipeline in pipelines.values():
        pipeline.close()
    assert len(numbers(cut / "log" / "steps")) < 5
    assert len(numbers(whole / "log" / "steps")) > steps - 1


def test_a_program_without_state_in_the_process_is_opened_again(tmp_path: Path) -> None:
    program = "SET state_seconds = '0'; SET log_retention = 'recovery'; CREATE STREAM s (k INT);"
    with opened(tmp_path / "dir", program) as pipeline:
        for step in range(5):
            pipeline.step({"s": [(step,)]})
    with opened(tmp_path / "dir", program) as pipeline:
        assert pipeline.steps == 5
        pipeline.execute("CREATE VIEW v AS SELECT COUNT(*) AS n FROM s")
        assert pipeline.query("SELECT * FROM v").rows == [(5,)]


def test_steps_without_rows_are_cut_too(tmp_path: Path) -> None:
    program = "SET state_seconds = '0'; SET log_retention = 'recovery'; CREATE STREAM s (k INT);"
    with opened(tmp_path / "dir", program) as pipeline:
        for minute in range(5):
            pipeline.step({}, clock=START + timedelta(minutes=minute))
    assert numbers(tmp_path / "dir" / "log" / "steps") == [4, 5]


def test_an_error_that_passes_sets_nothing_aside(cut: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", "rows.duckdb")

    with monkeypatch.context() as patch:
        patch.setattr(Store, "restore", full)
        pipeline = opened(cut)
        with pytest.raises(DataError, match="no state can be used"):
            pipeline.query("SELECT 1")
        pipeline.close()
    with opened(cut) as pipeline:
        assert pipeline.steps == 10


def test_the_layout_of_the_program_does_not_matter(cut: Path) -> None:
    with opened(cut, PROGRAM.replace("SELECT k,", "SELECT\n    k,")) as pipeline:
        assert pipeline.steps == 10


def test_a_snapshot_of_other_code_is_none_of_the_two(tmp_path: Path) -> None:
    folder = tmp_path / "dir"
    with opened(folder, PROGRAM.replace("'recovery'", "'all'")) as pipeline:
        stepped(pipeline, 1, 5)
    of_others(folder, code="0" * 24)
    with opened(folder, PROGRAM.replace("'recovery'", "'all'")) as pipeline:
        pipeline.execute("SET log_retention = 'recovery'")
        stepped(pipeline, 6, 6)
        assert numbers(folder / "log" / "steps") == [1, 2, 3, 4, 5, 6]
        stepped(pipeline, 7, 7)
    assert numbers(folder / "log" / "steps") == [6, 7]


def test_a_directory_that_only_its_log_tells_of_is_one_still(cut: Path, tmp_path: Path) -> None:
    folder = tmp_path / "old"
    with opened(folder, PROGRAM.replace("'recovery'", "'all'")) as pipeline:
        stepped(pipeline, 1, 3)
    (folder / "program.json").unlink()  # as those of format 1 were
    with opened(folder, PROGRAM.replace("'recovery'", "'all'")) as pipeline:
        pipeline.execute("SET log_retention = 'recovery'")
        stepped(pipeline, 4, 6)
    assert numbers(folder / "log" / "steps") == [5, 6]
    with opened(folder, PROGRAM.replace("'recovery'", "'all'")) as pipeline:
        assert pipeline.steps == 6
    (cut / "program.json").unlink()
    pipeline = opened(cut)
    with pytest.raises(DataError, match="begins with step 9"):
        pipeline.query("SELECT 1")
    pipeline.close()


def test_a_program_that_is_deployed_may_ask_for_it_and_take_it_back(tmp_path: Path) -> None:
    folder, whole = tmp_path / "dir", PROGRAM.replace("SET log_retention = 'recovery';", "")
    with opened(folder, whole) as pipeline:
        stepped(pipeline, 1, 4)
        assert pipeline.deployment(PROGRAM).statements == ("SET log_retention = 'recovery';",)
        pipeline.deploy(PROGRAM)  # which is a step
        stepped(pipeline, 6, 7)
    assert numbers(folder / "log" / "steps") == [6, 7]
    with opened(folder) as pipeline:
        assert pipeline.deployment(whole).statements == ("SET log_retention = 'all';",)
        pipeline.deploy(whole)
        stepped(pipeline, 9, 10)
    assert numbers(folder / "log" / "steps") == [6, 7, 8, 9, 10]
    with opened(folder, whole) as pipeline:
        assert pipeline.steps == 10
        stepped(pipeline, 11, 11)
        assert len(pipeline.query("SELECT * FROM t").rows) == 9


def test_another_value_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SqlError, match="log_retention cannot be 'recover'") as refused:
        opened(tmp_path / "dir", PROGRAM.replace("'recovery'", "'recover'")).check()
    assert refused.value.diagnostics[0].candidates == ("recovery",)
