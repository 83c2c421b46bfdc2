"""`penstock state`, archives, and a program that changes in a directory in which nobody runs; no JVM is started."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any

import pytest

import penstock
from penstock.cli.main import main
from penstock.errors import DataError
from penstock.failpoints import VARIABLE
from penstock.pipeline.archives import export_directory, import_directory
from penstock.pipeline.inspection import directory_facts
from penstock.pipeline.recovery import program_record
from penstock.pipeline.source_facts import taken_text

PROGRAM = """
SET state_seconds = '0';
CREATE TABLE t (id INT PRIMARY KEY, k INT);
CREATE VIEW groups AS SELECT k, COUNT(*) AS n FROM t GROUP BY k;
"""
INSERTS = "INSERT INTO t VALUES (1, 1), (2, 1); INSERT INTO t VALUES (3, 2);"
CHANGED = PROGRAM + "CREATE VIEW big AS SELECT id FROM t WHERE id > 1;"


@pytest.fixture(autouse=True)
def _own_session(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("penstock.pipeline.opening.running_session", lambda: None)


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("written") / "dir"
    with penstock.Pipeline(PROGRAM + INSERTS, directory=folder, engine="native", retain="materialized") as pipeline:
        pipeline.position("here")
    return folder


@pytest.fixture
def directory(written: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(written, tmp_path / "dir"))


def asked(capfd: pytest.CaptureFixture[str], *arguments: str) -> tuple[Any, str, str]:
    with pytest.raises(SystemExit) as ended:
        main(list(arguments))
    out, err = capfd.readouterr()
    return ended.value.code, out, err


def content(directory: Path, program: str, view: str) -> list[tuple[Any, ...]]:
    with penstock.Pipeline(program, directory=directory, engine="native", retain="materialized") as pipeline:
        return sorted(pipeline.content(view).rows)


def test_what_lies_there_is_told(directory: Path, capfd: pytest.CaptureFixture[str]) -> None:
    code, out, _ = asked(capfd, "state", str(directory), "--format", "json")
    found = json.loads(out)
    assert code == 0
    assert (found["step"], found["in_use_by"], found["deployed"], len(found["program"])) == (2, None, False, 3)
    assert [(item["name"], item["steps"], item["rows"]) for item in found["tables"]] == [("t", 2, 3)]
    assert [(item["step"], item["state"]) for item in found["snapshots"]] == [(2, "usable")]
    assert found["positions"] == {"here": 2}
    code, out, _ = asked(capfd, "state", str(directory))
    assert code == 0
    assert "step        2" in out
    assert "t: 3 rows of changes in 2 steps" in out


def test_positions_in_sources_are_told_for_people_and_as_values(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "in").mkdir()
    for number in range(10):
        (tmp_path / "in" / f"{number}.json").write_text('{"a": 1}\n', encoding="utf-8")
    program = f"CREATE TABLE t (a INT) WITH ('connector' = 'files', 'path' = '{tmp_path}/in');"
    with penstock.Pipeline(program, directory=tmp_path / "dir", engine="native") as pipeline:
        pipeline.run(once=True)
    code, out, _ = asked(capfd, "state", str(tmp_path / "dir"))
    shown = "; ".join(f"{tmp_path}/in/{number}.json@9" for number in range(2, 10))
    assert (code, f"source      t: {shown}; and 2 others\n" in out) == (0, True)
    _, out, _ = asked(capfd, "state", str(tmp_path / "dir"), "--format", "json")
    ranges = json.loads(out)["sources"]["t"]
    assert [item["read"][0]["to"] for item in ranges] == [{"offset": 9, "lines": 1}] * 10


@pytest.mark.parametrize(
    ("item", "said"),
    [
        (
            {"topic": "o", "partition": 1, "id": "x", "from": {"offset": 0}, "to": {"offset": 7, "messages": 7}},
            "o/1/x@7",
        ),
        ({"slot": "s", "from": "0/1", "to": {"lsn": "0/2A", "columns": {"a": 23}}}, "s@0/2A"),
        ({"slot": "s", "from": None, "to": {"row": 3, "of": 9, "byte": 5, "lsn": "0/2A", "columns": {}}}, "s@3"),
        ({"source": 0, "taken": {"read": [{"path": "a", "to": {"offset": 4, "lines": 1}}]}}, "0/a@4"),
        ({"source": 1, "topic": "o", "partition": 0, "to": {"offset": 2}}, "1/o/0@2"),
        ({"to": {"version": 3}}, "3"),
        ({"to": [1, None]}, "[1, null]"),
    ],
)
def test_a_position_of_any_source_is_text_for_people(item: dict[str, Any], said: str) -> None:
    assert taken_text([{"connector": "any", "read": [item]}]) == said


def test_it_may_be_at_work_meanwhile(directory: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with penstock.Pipeline(PROGRAM + INSERTS, directory=directory, engine="native") as pipeline:
        assert pipeline.steps == 2
        assert directory_facts(directory).in_use_by == f"process {os.getpid()} on {os.uname().nodename}"
        code, _, err = asked(capfd, "state", str(directory), "--export", str(directory.parent / "a.tar"))
        assert (code, "DIRECTORY_IN_USE" in err) == (1, True)
        assert not list(directory.parent.glob("a.tar*"))
    assert directory_facts(directory).in_use_by is None


def test_a_directory_that_is_none_is_refused(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    code, _, err = asked(capfd, "state", str(tmp_path / "nowhere"))
    assert (code, "NO_PIPELINE" in err) == (1, True)
    assert not (tmp_path / "nowhere").exists()


def test_another_place_goes_on_from_an_archive(directory: Path, tmp_path: Path) -> None:
    archive, other = tmp_path / "a.tar", tmp_path / "other"
    (directory / "state" / "000000000001.tmp").mkdir()
    assert export_directory(directory, archive) == import_directory(archive, other)
    assert not list(other.rglob("*.tmp"))
    assert [item.state for item in directory_facts(other).snapshots] == ["usable"]
    shutil.rmtree(other / "log" / "data")  # the snapshot is enough
    assert content(other, PROGRAM + INSERTS, "groups") == [(1, 2), (2, 1)]


def test_an_archive_that_is_cut_or_changed_makes_nothing(directory: Path, tmp_path: Path) -> None:
    archive, other = tmp_path / "a.tar", tmp_path / "other"
    export_directory(directory, archive)
    data = archive.read_bytes()
    (tmp_path / "cut.tar").write_bytes(data[: len(data) // 2])
    turned = bytearray(data)
    with tarfile.open(archive) as read:
        place = read.getmember("program.json").offset_data
    turned[place + 20] ^= 1
    (tmp_path / "turned.tar").write_bytes(turned)
    for name in ("cut.tar", "turned.tar"):
        with pytest.raises(DataError, match="not the whole archive"):
            import_directory(tmp_path / name, other)
        assert not other.exists()
    import_directory(archive, other)
    with pytest.raises(DataError, match="is there already"):
        import_directory(archive, other)


def test_an_output_that_is_not_used_any_more_is_forgotten(directory: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (directory / "outputs.json").write_text(json.dumps({"format": 1, "taken": {"folder out": 1}}))
    assert [(item.name, item.lacks) for item in directory_facts(directory).outputs] == [("folder out", 1)]
    code, _, err = asked(capfd, "state", str(directory), "--forget-output", "folder outt")
    assert (code, "folder out" in err) == (1, True)
    assert asked(capfd, "state", str(directory), "--forget-output", "folder out")[0] == 0
    assert not directory_facts(directory).outputs


def run(directory: Path, program: str, *more: str) -> list[str]:
    path = directory.parent / "program.sql"
    path.write_text(program)
    return ["run", str(path), "--dir", str(directory), "--engine", "native", "--once", "--quiet", *more]


def test_a_changed_program_is_shown_and_takes_the_place_of_the_other(
    directory: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    changed = CHANGED + INSERTS + "INSERT INTO t VALUES (9, 9);"
    view = ("--view", "groups")
    code, _, err = asked(capfd, *run(directory, changed, *view))
    assert code == 1
    assert "+ view big added: filled from the content of t" in err
    assert "error[PROGRAM_CHANGED]" in err
    assert "--yes" in err
    assert program_record(directory).deployed is None  # type: ignore[union-attr]
    code, _, err = asked(capfd, *run(directory, changed, *view, "--yes"))
    assert code == 0
    assert "done with step 3 (big: 2 changed rows)" in err
    code, _, err = asked(capfd, *run(directory, changed, *view))
    assert (code, err) == (0, "")
    assert directory_facts(directory).step == 3  # its other statements are not run
    assert content(directory, changed, "big") == [(2,), (3,)]


def test_what_cannot_be_done_ends_the_run(directory: Path, capfd: pytest.CaptureFixture[str]) -> None:
    code, _, err = asked(capfd, *run(directory, CHANGED.replace("k INT", "k BIGINT"), "--yes"))
    assert (code, "error[TABLE_CHANGED]" in err) == (1, True)
    assert content(directory, PROGRAM + INSERTS, "groups") == [(1, 2), (2, 1)]


def test_a_deploy_needs_nobody_to_run(directory: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = directory.parent / "new.sql"
    path.write_text(CHANGED)
    command = ["deploy", str(path), "--dir", str(directory), "--engine", "native"]
    code, out, _ = asked(capfd, *command, "--dry-run")
    assert (code, "+ view big added" in out, directory_facts(directory).step) == (0, True, 2)
    code, out, _ = asked(capfd, *command, "--yes")
    assert (code, "done with step 3" in out) == (0, True)
    assert content(directory, CHANGED, "big") == [(2,), (3,)]


@pytest.mark.extended  # each starts a process
@pytest.mark.parametrize(("failpoint", "happened"), [("deploy.pending", False), ("deploy.step", True)])
def test_a_deploy_that_is_killed_has_happened_or_not(failpoint: str, happened: bool, directory: Path) -> None:  # noqa: FBT001
    path = directory.parent / "new.sql"
    path.write_text(CHANGED)
    command = ["deploy", str(path), "--dir", str(directory), "--engine", "native", "--yes"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), VARIABLE: failpoint}
    code = "from penstock.cli.main import main; main()"
    found = subprocess.run([sys.executable, "-c", code, *command], env=environment, capture_output=True, check=False)
    assert found.returncode == -signal.SIGKILL, found.stderr
    program, other = (CHANGED, PROGRAM) if happened else (PROGRAM, CHANGED)
    with pytest.raises(DataError, match="belongs to another program"):
        content(directory, other, "groups")
    for _ in range(2):
        assert content(directory, program, "groups") == [(1, 2), (2, 1)]
    assert directory_facts(directory).step == 2 + happened
