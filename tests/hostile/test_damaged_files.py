"""A bit turned in any file of a directory is detected, or has no effect; `fsck` finds it, and mends what can be."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.tiers import either

import penstock
from penstock.cli.main import main
from penstock.errors import DataError
from penstock.pipeline.directory_check import check_directory

PROGRAM = """
SET engine = 'native';
SET state_seconds = '0';
CREATE TABLE t (id INT PRIMARY KEY, v DOUBLE, name STRING);
CREATE STREAM s (at TIMESTAMP LATENESS INTERVAL 1 MINUTE, v INT);
CREATE VIEW sums AS SELECT name, SUM(v) AS v, COUNT(*) AS n FROM t GROUP BY name;
CREATE VIEW minutes AS SELECT date_trunc('MINUTE', at) AS m, SUM(v) AS v FROM s GROUP BY date_trunc('MINUTE', at);
CREATE VIEW shown WITH ('connector' = 'files', 'path' = '{folder}/out', 'form' = 'upsert') AS SELECT id, v FROM t;
"""
VIEWS = ("sums", "minutes", "t", "s", "error_view")
STEPS = 5


def opened(place: Path, folder: Path) -> penstock.Pipeline:
    pipeline = penstock.Pipeline(PROGRAM.format(folder=place), directory=folder)
    pipeline.query("SELECT 1")  # now it is open
    return pipeline


def answers(pipeline: penstock.Pipeline) -> dict[str, list[str]]:
    return {name: rows(pipeline, name) for name in VIEWS}


def rows(pipeline: penstock.Pipeline, name: str) -> list[str]:
    return sorted(map(repr, pipeline.query(f"SELECT * FROM {name}").rows))


def step(pipeline: penstock.Pipeline, number: int) -> None:
    pipeline.step(
        {
            "t": [(number % 3, number / 8, f"n{number % 2}"), (number, 1.5, "all")],
            "s": [(f"2030-01-01 00:0{number}:00", number), ("2030-01-01 00:00:00", 1)],
        }
    )


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a directory of five steps, in `dir`."""
    folder = tmp_path_factory.mktemp("place")
    with opened(folder, folder / "dir") as pipeline:
        for number in range(1, STEPS + 1):
            step(pipeline, number)
    shutil.copytree(folder / "out", folder / "shown")
    return folder


def copy(place: Path, target: Path) -> Path:
    """A copy of the directory; its output is as it was then."""
    shutil.rmtree(place / "out")
    shutil.copytree(place / "shown", place / "out")
    return Path(shutil.copytree(place / "dir", target))


@pytest.fixture(scope="module")
def right(place: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    with opened(place, copy(place, tmp_path_factory.mktemp("right") / "dir")) as pipeline:
        return answers(pipeline)


def kinds(folder: Path) -> dict[str, list[Path]]:
    """The files of a directory, by what they are."""
    found: dict[str, list[Path]] = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.name not in {"lock", "id"}:
            kind = "/".join(part for part in path.relative_to(folder).parts if not part[:12].isdigit())
            found.setdefault(kind + path.suffix, []).append(path)
    return found


def turn(path: Path, at: int, bit: int) -> None:
    data = bytearray(path.read_bytes())
    data[at] ^= 1 << bit
    path.write_bytes(data)


@pytest.mark.both
def test_a_turned_bit_is_detected_or_has_no_effect(place, right, tmp_path):
    chance = random.Random(7)
    for kind in sorted(kinds(place / "dir")):
        for number in range(either(1, 60)):
            folder = copy(place, tmp_path / f"{kind.replace('/', '_')}{number}")
            path = chance.choice(kinds(folder)[kind])
            at, bit = chance.randrange(path.stat().st_size), chance.randrange(8)
            turn(path, at, bit)
            without_state = chance.random() < 0.5
            if without_state and "state" not in kind:
                shutil.rmtree(folder / "state")
            assert answers_or_none(place, folder) in (None, right), (path, at, bit)
            shutil.rmtree(folder)


def answers_or_none(place: Path, folder: Path) -> dict[str, list[str]] | None:
    """What the pipeline answers, or None if the directory is refused as damaged."""
    try:
        with opened(place, folder) as pipeline:
            return answers(pipeline)
    except DataError as error:
        if error.code != "DAMAGED_DIRECTORY":
            raise
        return None


def test_fsck_finds_a_turned_bit_in_each_kind_of_file(place, tmp_path):
    assert check_directory(place / "dir").is_whole
    chance = random.Random(8)
    for kind, files in kinds(place / "dir").items():
        folder = copy(place, tmp_path / kind.replace("/", "_"))
        path = folder / files[-1].relative_to(place / "dir")
        turn(path, chance.randrange(path.stat().st_size - 60), 1)  # the digest's own name and quotes may be anything
        found = check_directory(folder)
        assert not found.is_whole, path
        assert any(Path(item.file).parts[0] == path.relative_to(folder).parts[0] for item in found.damages)


def test_a_damaged_snapshot_is_not_the_end(place, right, tmp_path):
    folder = copy(place, tmp_path / "dir")
    last = max((folder / "state").iterdir())
    turn(last / "rows.duckdb", 5000, 3)
    with opened(place, folder) as pipeline:
        assert answers(pipeline) == right


def repaired(folder: Path) -> list[str]:
    assert not check_directory(folder).is_whole
    found = check_directory(folder, repair=True)
    assert found.repaired
    assert check_directory(folder).damages == []
    assert any((folder / "damaged").rglob("*"))
    return found.repaired


@pytest.mark.parametrize("name", ["log/data/t/000000000002.parquet", "log/steps/000000000003.json"])
def test_a_damaged_step_before_a_snapshot_costs_history_alone(place, right, tmp_path, name):
    folder = copy(place, tmp_path / "dir")
    turn(folder / name, 40, 2)
    done = repaired(folder)
    assert any("the log begins with step 5" in item for item in done)
    with opened(place, folder) as pipeline:
        assert (rows(pipeline, "sums"), rows(pipeline, "t")) == (right["sums"], right["t"])
        if "steps" in name:  # the rows of a step whose manifest is gone are not to be believed
            with pytest.raises(DataError, match="the history of s reaches back to step 4 only"):
                rows(pipeline, "s")
        else:
            assert rows(pipeline, "s") == right["s"]
        step(pipeline, 6)
    with opened(place, folder) as pipeline:
        assert pipeline.steps == STEPS + 1


def test_a_damaged_step_without_a_snapshot_ends_the_log(place, tmp_path):
    folder = copy(place, tmp_path / "dir")
    shutil.rmtree(folder / "state")
    turn(folder / "log" / "data" / "t" / "000000000004.parquet", 40, 2)
    assert any("the log ends with step 3; steps 4 to 5 are lost" in item for item in repaired(folder))
    with pytest.raises(DataError, match="another copy"):  # the output has what is lost
        opened(place, folder)
    shutil.rmtree(place / "out")
    with opened(place, folder) as pipeline, opened(place / "other", tmp_path / "other") as other:
        for number in range(1, 4):
            step(other, number)
        assert answers(pipeline) == answers(other)


@pytest.mark.parametrize("name", ["program.json", "outputs.json", "openings.json", "log/declarations.json"])
def test_small_files_are_mended(place, right, tmp_path, name):
    folder = copy(place, tmp_path / "dir")
    if not (folder / name).exists():
        pytest.skip(f"there is no {name}")
    turn(folder / name, 10, 2)
    repaired(folder)
    with opened(place, folder) as pipeline:
        assert answers(pipeline) == right


@pytest.mark.parametrize("gone", ["log/steps/000000000001.json", "log/steps/000000000003.json", "log/steps"])
@pytest.mark.parametrize("state", [True, False])
def test_a_log_without_some_of_its_steps_is_refused(place, tmp_path, gone, state):
    folder = copy(place, tmp_path / "dir")
    if not state:
        shutil.rmtree(folder / "state")
    path = folder / gone
    shutil.rmtree(path) if path.is_dir() else path.unlink()
    with pytest.raises(DataError) as caught:
        opened(place, folder)
    assert caught.value.code == "DAMAGED_DIRECTORY"
    assert "missing" in str(caught.value)


def test_a_directory_that_is_replaced_takes_no_more_steps(place, tmp_path):
    folder = copy(place, tmp_path / "dir")
    with opened(place, folder) as pipeline:
        shutil.move(folder, tmp_path / "moved")
        with pytest.raises(DataError) as caught:
            step(pipeline, 6)
        assert caught.value.code == "DIRECTORY_GONE"
        shutil.copytree(tmp_path / "moved", folder)
        with pytest.raises(DataError, match="another directory"):
            step(pipeline, 6)
    assert check_directory(folder).is_whole


def test_the_command_says_what_is_damaged_and_mends_it(place, tmp_path):
    folder = copy(place, tmp_path / "dir")
    fine = CliRunner().invoke(main, ["fsck", str(folder)])
    assert (fine.exit_code, "0 damaged" in fine.output) == (0, True)
    turn(folder / "log" / "data" / "t" / "000000000002.parquet", 40, 2)
    bad = CliRunner().invoke(main, ["fsck", str(folder)])
    assert bad.exit_code == 1
    assert "log/data/t/000000000002.parquet: " in bad.output
    assert "costs" in bad.output
    assert CliRunner().invoke(main, ["fsck", str(folder), "--repair", "--format", "json"]).exit_code == 0
    assert CliRunner().invoke(main, ["fsck", str(folder)]).exit_code == 0
    with opened(place, folder):
        assert CliRunner().invoke(main, ["fsck", str(folder)]).exit_code == 1  # it is in use
