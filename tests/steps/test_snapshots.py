"""Snapshots: what is written is read, and what cannot be used is set aside, told, and made again from the log."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import penstock
from penstock.errors import DataError
from penstock.steps.checked_files import facts_of, write_facts
from penstock.steps.events import Event, StateNotKept
from penstock.steps.memory_file import MAGIC, loaded
from penstock.steps.origin import APART

PROGRAM = """
SET state_seconds = '0';
CREATE TABLE t (id INT PRIMARY KEY, k INT);
CREATE STREAM s (k INT) WITH ('history' = 'none');
CREATE VIEW groups AS SELECT k, COUNT(*) AS n FROM t GROUP BY k;
CREATE VIEW counted AS SELECT k, COUNT(*) AS n FROM s GROUP BY k;
"""
CHANGED = "CREATE VIEW big AS SELECT id FROM t WHERE id > 1;"


class Told:
    """All that a pipeline says of its state."""

    def __init__(self) -> None:
        self.messages: list[str] = []

    def __call__(self, event: Event) -> None:
        if isinstance(event, StateNotKept):
            self.messages.append(event.message)


def opened(folder: Path, program: str = PROGRAM, **more: Any) -> tuple[penstock.Pipeline, list[str], int]:
    """The pipeline at work again, what it has told, and the step of the snapshot that it went on from."""
    told = Told()
    pipeline = penstock.Pipeline(program, directory=folder, engine="native", on_event=told, **more)
    snapshots = pipeline._opened().snapshots
    assert snapshots is not None
    return pipeline, told.messages, snapshots.last


def filled(folder: Path) -> None:
    with penstock.Pipeline(PROGRAM, directory=folder, engine="native") as pipeline:
        pipeline.step({"t": [(1, 1), (2, 1)], "s": [(7,)]})
        pipeline.step({"t": [(3, 2)], "s": [(7,), (8,)]})


def check(pipeline: penstock.Pipeline) -> None:
    """The answers of `filled`, and of one more step that needs what was remembered."""
    assert pipeline.steps == 2
    assert sorted(pipeline.content("counted").rows) == [(7, 2), (8, 1)]
    pipeline.step({"t": [("-", (1, 1))], "s": [(8,)]})
    assert sorted(pipeline.content("groups").rows) == [(1, 1), (2, 1)]
    assert sorted(pipeline.content("counted").rows) == [(7, 2), (8, 2)]
    pipeline.close()


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("written") / "dir"
    filled(folder)
    assert [path.name for path in (folder / "state").iterdir()] == ["000000000002"]
    return folder


@pytest.fixture
def copied(written: Path, tmp_path: Path) -> Path:
    """The directory in another place."""
    return Path(shutil.copytree(written, tmp_path / "elsewhere"))


def test_a_moved_directory_goes_on_from_its_snapshot(copied: Path) -> None:
    shutil.rmtree(copied / "log" / "data")  # nothing of it is read
    pipeline, told, last = opened(copied)
    assert (told, last) == ([], 2)
    check(pipeline)


def _cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-100])


def _turned(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def _of_other_code(path: Path) -> None:
    header = facts_of(path)
    header["origin"]["code"] = "0" * 24
    write_facts(path, header)


@pytest.mark.parametrize(
    ("name", "damage", "said"),
    [
        ("rows.duckdb", _cut, "rows.duckdb is not as long as it was written"),
        ("rows.duckdb", _turned, "rows.duckdb is not what was written"),
        ("memory.bin", _turned, "memory.bin is not what was written"),
        ("memory.bin", Path.unlink, "memory.bin is not as long as it was written"),
        ("header.json", _cut, "its header.json cannot be read"),
        ("header.json", Path.unlink, "its header.json cannot be read"),
        ("header.json", _of_other_code, "it was written by other code"),
    ],
    ids=["short rows", "other rows", "other memory", "no memory", "short header", "no header", "other code"],
)
def test_one_that_cannot_be_used_is_told_and_the_log_made_again(
    name: str, damage: Callable[[Path], object], said: str, copied: Path
) -> None:
    damage(copied / "state" / "000000000002" / name)
    pipeline, told, last = opened(copied)
    assert len(told) == 1
    assert told[0].endswith(said)
    assert last == 0
    check(pipeline)
    again, told, last = opened(copied)
    assert (told, last, again.steps) == ([], 3, 3)
    again.close()


def test_a_log_that_ends_before_a_snapshot_is_refused(copied: Path) -> None:
    (copied / "log" / "steps" / "000000000002.json").unlink()  # as in a copy that was made while steps were
    with pytest.raises(DataError, match=r"000000000002.json .* is missing") as caught:
        opened(copied)
    assert caught.value.diagnostics[0].code == "DAMAGED_DIRECTORY"


def test_one_of_an_earlier_program_is_not_taken_for_that_of_a_rebuilt_one(copied: Path) -> None:
    pipeline, _, last = opened(copied, PROGRAM + CHANGED, rebuild=True)
    assert last == 0
    assert not (copied / "state").exists()
    pipeline._opened().snapshots = None  # as if killed
    pipeline.close()
    again, told, last = opened(copied, PROGRAM + CHANGED)
    assert (told, last) == ([], 0)
    assert sorted(again.content("big").rows) == [(2,), (3,)]
    check(again)


def test_a_deployed_program_goes_on_from_its_snapshot(copied: Path) -> None:
    pipeline, _, _ = opened(copied)
    pipeline.deploy(PROGRAM + CHANGED)
    pipeline.close()
    shutil.rmtree(copied / "log" / "data")
    again, told, last = opened(copied, PROGRAM + CHANGED)
    assert (told, last, again.steps) == ([], 3, 3)
    assert sorted(again.content("big").rows) == [(2,), (3,)]
    again.close()
    with pytest.raises(DataError, match="belongs to another program"):
        opened(copied, PROGRAM)


def test_lasting_queries_go_on_and_those_of_a_session_end(copied: Path) -> None:
    query = "SELECT k, COUNT(*) AS n FROM t GROUP BY k EMIT CHANGES"
    pipeline, _, _ = opened(copied)
    pipeline.subscribe(query, lasting=True, name="kept")
    pipeline.subscribe(query, name="left")
    pipeline.step({"t": [(8, 5)]})
    pipeline.close()
    again, told, last = opened(copied)
    assert (told, last) == ([], 3)
    kept = again.subscribe(query, lasting=True)
    assert kept.name == "kept"
    assert {view.name for view in again._opened().stepper.catalog.views.values()} >= {"kept"}
    assert "left" not in again._opened().stepper.catalog.views
    again.step({"t": [(9, 2)]})
    emission = kept.get(timeout=5)
    assert emission is not None
    assert ("+U", 2, 2) in [row[:3] for row in emission]
    assert all(row[1] == 2 for row in emission)  # not all that it has shown before
    again.close()


class Refusing:
    """An output that takes nothing."""

    def __init__(self, *, takes: bool) -> None:
        self.takes, self.given = takes, 0

    def describe(self) -> str:
        return "an output"

    def write(self, _changes: Any) -> None:
        if not self.takes:
            raise TimeoutError
        self.given += 1

    def close(self) -> None:
        pass


def test_what_an_output_lacks_is_made_again(copied: Path) -> None:
    pipeline, _, _ = opened(copied)
    pipeline.give([Refusing(takes=True)])
    changes = pipeline.step({"s": [(1,)]})
    with pytest.raises(TimeoutError):
        pipeline.give([Refusing(takes=False)], changes)
    pipeline.close()
    assert json.loads((copied / "outputs.json").read_text())["taken"] == {"an output": 2}
    again, told, last = opened(copied)
    assert (told, last, again.steps) == ([], 2, 3)
    output = Refusing(takes=True)
    again.give([output])
    assert output.given == 1
    again.close()


# For which Spark would load what `serializedClass` says.
UDT = json.dumps(
    {
        "type": "struct",
        "fields": [
            {
                "name": "x",
                "nullable": True,
                "metadata": {},
                "type": {"type": "udt", "pyClass": "os.nothing", "serializedClass": "", "sqlType": "integer"},
            }
        ],
    }
)


def test_state_depends_on_no_code_that_its_digest_leaves_out() -> None:
    """What is apart is known to the pipeline alone, which hands on plain values of it."""
    root = Path(penstock.__file__).parent
    packages = {path.name for path in root.iterdir() if (path / "__init__.py").exists()}
    assert set(APART) < packages
    names = re.compile(rf"^ *(?:from|import) penstock\.({'|'.join(APART)})\b", re.MULTILINE)
    for package in packages - {*APART, "pipeline"}:
        for path in (root / package).rglob("*.py"):
            assert not names.search(path.read_text(encoding="utf-8")), path


@pytest.mark.parametrize(
    "value",
    [
        (("penstock.steps.durable", "os.system"), ("true",)),
        (("builtins", "eval"), ("1",)),
        (("penstock.steps.directory", "directory_id"), ("x",)),
        (("penstock.backends.native.store", "Store"), ()),
        (("penstock.plan.tree_values", "tree_of"), ([{"c": "os.abort"}],)),
        (("penstock.plan.tree_values", "tree_of"), ([{"c": "penstock.backends.temporary.TemporaryFolder"}],)),
        (("penstock.steps.memory_file", "bound"), ("x", "upper")),
        (("penstock.backends.spark.remembered", "schema_of_json"), (UDT,)),
        (("penstock.outputs.receiver", "Owner"), ("x", None)),
    ],
    ids=[
        "through a module",
        "eval",
        "a function",
        "a class",
        "a tree",
        "a tree of ours",
        "a method",
        "a type",
        "apart",
    ],
)
def test_bytes_of_another_origin_call_nothing(value: Any, written: Path, tmp_path: Path) -> None:
    (module, name), arguments = value
    nodes: list[Any] = [["call", module, name, [[1] if isinstance(item, list) else item for item in arguments]]]
    nodes += (
        [["list", [[2]]], ["dict", ["c"], [arguments[0][0]["c"]]]]
        if arguments and isinstance(arguments[0], list)
        else []
    )
    text = json.dumps(nodes).encode()
    data = MAGIC + len(text).to_bytes(8, "little") + text
    with penstock.Pipeline(PROGRAM, engine="native") as pipeline:
        state = pipeline._opened().stepper._state
        with pytest.raises(DataError, match="does not hold"):
            loaded(data, state, tmp_path, state.engine.workspace.row_files(tmp_path))
