"""Snapshots of operators on Spark: their rows are Parquet files beside the rest, whole or not used."""

from __future__ import annotations

import errno
import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import penstock
from penstock.backends.spark.trace import Layer, Trace, by_key
from penstock.backends.spark.workspace import Workspace
from penstock.backends.spark.written import RowFiles
from penstock.errors import DataError, UnsupportedError
from penstock.steps.events import Event, StateNotKept

PROGRAM = """
SET state_seconds = '0';
CREATE TABLE t (id INT PRIMARY KEY, k INT, x DOUBLE);
CREATE STREAM s (k INT) WITH ('history' = 'none');
CREATE VIEW groups AS SELECT k, COUNT(*) AS n, SUM(x) AS s FROM t GROUP BY k;
CREATE VIEW counted AS SELECT k, COUNT(*) AS n FROM s GROUP BY k;
CREATE VIEW joined AS SELECT t.id, s.k FROM t JOIN s ON t.k = s.k;
CREATE VIEW top AS SELECT id, x FROM t ORDER BY id DESC LIMIT 2;
"""


def opened(folder: Path, program: str = PROGRAM, **more: Any) -> tuple[penstock.Pipeline, list[str], int]:
    """The pipeline at work again, what it has told of its state, and the step of the snapshot that it went on from."""
    told: list[str] = []

    def hear(event: Event) -> None:
        if isinstance(event, StateNotKept):
            told.append(event.message)

    pipeline = penstock.Pipeline(program, directory=folder, engine="spark", on_event=hear, **more)
    workspace = pipeline._opening.workspace
    workspace.driver_rows, workspace.memory_rows = -1, 0  # everything lies on the executors
    snapshots = pipeline._opened().snapshots
    assert snapshots is not None
    return pipeline, told, snapshots.last


def filled(folder: Path) -> None:
    pipeline, told, _ = opened(folder)
    pipeline.step({"t": [(1, 7, 0.5), (2, 8, -0.0)], "s": [(7,)]})
    pipeline.step({"t": [(3, 7, None)], "s": [(7,), (8,)]})
    pipeline.close()
    assert told == []


def check(pipeline: penstock.Pipeline) -> None:
    """The answers of `filled`, and of one more step that needs what was remembered."""
    assert pipeline.steps == 2
    assert sorted(pipeline.content("counted").rows) == [(7, 2), (8, 1)]
    pipeline.step({"t": [("-", (1, 7, 0.5))], "s": [(8,)]})
    assert sorted(pipeline.content("groups").rows, key=str) == [(7, 1, None), (8, 1, 0.0)]
    assert sorted(pipeline.content("counted").rows) == [(7, 2), (8, 2)]
    assert sorted(pipeline.content("joined").rows) == [(2, 8), (2, 8), (3, 7), (3, 7)]
    assert sorted(pipeline.content("top").rows, key=str) == [(2, -0.0), (3, None)]
    pipeline.close()


@pytest.fixture(scope="module")
def written(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("written") / "dir"
    filled(folder)
    return folder


@pytest.fixture
def copied(written: Path, tmp_path: Path) -> Path:
    """The directory in another place, whose name Spark could take for a pattern."""
    return Path(shutil.copytree(written, tmp_path / "else where [1] {2}*"))


def parquet(folder: Path) -> list[Path]:
    return sorted((folder / "state" / "000000000002").glob("spark-*/*"))


def test_its_rows_are_parquet_files_and_nothing_else(written: Path) -> None:
    assert [path.name for path in (written / "state").iterdir()] == ["000000000002"]
    files = parquet(written)
    assert len(files) > 5
    assert {path.suffix for path in files} == {".parquet"}


def test_a_moved_directory_goes_on_from_them(copied: Path, interpreting: Any) -> None:
    shutil.rmtree(copied / "log" / "data")  # nothing of it is read
    pipeline, told, last = opened(copied)
    assert (told, last) == ([], 2)
    shutil.rmtree(copied / "state")  # it is not needed any more
    check(pipeline)


def _cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-100])


def _turned(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


@pytest.mark.extended  # by default it is seen in the process (test_snapshots), and what is asked of files below
@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (_cut, "as long as it was written"),
        (_turned, "what was written"),
        (Path.unlink, "as long as it was written"),
    ],
    ids=["short", "other", "gone"],
)
def test_damage_is_told_and_the_log_made_again(
    damage: Callable[[Path], object], said: str, copied: Path, interpreting: Any
) -> None:
    damage(parquet(copied)[2])
    pipeline, told, last = opened(copied)
    assert len(told) == 1
    assert re.search(rf"spark-\w+/part-\S+\.parquet is not {said}$", told[0])
    assert last == 0
    check(pipeline)
    assert [path.name for path in (copied / "state").iterdir()] == ["000000000003"]


def test_another_engine_goes_on_from_them(copied: Path, interpreting: Any) -> None:
    shutil.rmtree(copied / "log" / "data")  # nothing of it is read
    told: list[str] = []
    hear = lambda event: told.append(event.message) if isinstance(event, StateNotKept) else None  # noqa: E731
    with penstock.Pipeline(PROGRAM, directory=copied, engine="auto", on_event=hear) as pipeline:
        check(pipeline)
    assert told == []


EXACT = """
SET state_seconds = '0';
CREATE TABLE t (id INT, f FLOAT, d DOUBLE, m MAP<STRING, DOUBLE>, v VARIANT,
    a ARRAY<STRUCT<x: DECIMAL(38, 10), y: BINARY>>, c STRING, ts TIMESTAMP, nt TIMESTAMP_NTZ, dt DATE);
CREATE VIEW same AS SELECT *, COUNT(*) OVER (PARTITION BY id) AS n FROM t;
CREATE VIEW typed AS SELECT id, m['a'] AS one, v:k::INT AS k, collate(c, 'UTF8_LCASE') AS l, NULL AS nothing,
    TIME'12:00:01.000002' AS tm, INTERVAL '3' DAY AS days, FIRST_VALUE(f) OVER (PARTITION BY id ORDER BY d) AS g FROM t;
CREATE VIEW later AS SELECT l.id, l.l, r.one, r.days FROM typed l JOIN typed r ON l.l = r.l;
"""
BITS = "SELECT id, n, hex(CAST(f AS STRING)), CAST(d AS STRING), CAST(m AS STRING), to_json(v), CAST(a AS STRING), c, "
BITS += "unix_micros(ts), CAST(nt AS STRING), CAST(dt AS STRING) FROM same"


def rows_of_all_types() -> list[tuple[Any, ...]]:
    first = datetime(1, 1, 1, 0, 0, 0, 1)  # noqa: DTZ001
    last = datetime(9999, 12, 31, 23, 59, 59, 999999)  # noqa: DTZ001
    nan, nested = float("nan"), [{"x": Decimal("1.5"), "y": b"\x00\xff"}, None]
    return [
        (1, -0.0, -0.0, {"b": -0.0, "a": nan}, '{"k": 1, "l": [1.50, null]}', nested, "Abc", first, first, date.min),
        (2, nan, nan, {"a": None}, "null", [], "", last, last, date.max),
        (3, 1e-45, 5e-324, {}, None, None, "aBC", None, None, None),
        (None, None, None, None, None, None, None, None, None, None),
    ]


def test_values_of_all_types_are_the_same_to_the_last_bit(interpreting: Any, tmp_path: Path) -> None:
    program, _, _ = EXACT.partition("CREATE VIEW later")
    pipeline, told, _ = opened(tmp_path, program)
    pipeline.step({"t": rows_of_all_types()})
    asked = (BITS, "SELECT * FROM typed")
    expected = [sorted(map(repr, pipeline.query(query).rows)) for query in asked]
    pipeline.close()
    assert told == []
    again, told, last = opened(tmp_path, program)
    assert (told, last) == ([], 1)
    assert [sorted(map(repr, again.query(query).rows)) for query in asked] == expected
    again.close()


@pytest.mark.extended
def test_every_value_is_the_same_to_the_last_bit(interpreting: Any, tmp_path: Path) -> None:
    pipeline, told, _ = opened(tmp_path, EXACT)
    pipeline.step({"t": rows_of_all_types()})
    pipeline.step({"t": rows_of_all_types()[:2]})
    asked = [f"SELECT * FROM {name}" for name in ("typed", "later")]
    expected = [sorted(map(repr, pipeline.query(query).rows)) for query in (BITS, *asked)]
    pipeline.close()
    assert told == []
    again, told, last = opened(tmp_path, EXACT)
    assert (told, last) == ([], 2)
    assert [sorted(map(repr, again.query(query).rows)) for query in (BITS, *asked)] == expected
    again.step({"t": [("-", row) for row in rows_of_all_types()[:3]]})
    assert again.query("SELECT id, n FROM same ORDER BY id").rows == [(None, 1), (1, 1), (2, 1)]
    again.step({"t": [("-", row) for row in rows_of_all_types()[:2]]})
    assert again.content("same").rows == [(*(None,) * 10, 1)]
    assert again.content("later").rows == []
    again.close()
    assert told == []


UNKNOWN = """
SET state_seconds = '0';
CREATE TABLE t (k INT);
CREATE VIEW v AS SELECT DISTINCT k, make_interval(0, k) AS i FROM t;
"""


def test_what_parquet_cannot_hold_is_told_and_the_log_made_again(interpreting: Any, tmp_path: Path) -> None:
    pipeline, told, _ = opened(tmp_path, UNKNOWN)
    pipeline.step({"t": [(1,), (1,)]})
    pipeline.step({"t": [(2,)]})
    pipeline.close()
    assert len(told) == 1
    assert re.match("no state is written, so going on will make the steps of the log again: .*INTERVAL", told[0])
    assert list((tmp_path / "state").iterdir()) == []
    again, _, last = opened(tmp_path, UNKNOWN)
    assert (last, again.steps) == (0, 2)
    again.step({"t": [("-", (1,))]})
    assert again.query("SELECT k FROM v ORDER BY k").rows == [(1,), (2,)]
    again.close()


SMALL = """
SET state_seconds = '0';
CREATE STREAM s (k INT) WITH ('history' = 'none');
CREATE VIEW counted AS SELECT k, COUNT(*) AS n FROM s GROUP BY k;
"""


def test_what_could_not_be_written_is_tried_again(interpreting: Any, tmp_path: Path, monkeypatch: Any) -> None:
    pipeline, told, _ = opened(tmp_path, SMALL)
    monkeypatch.setattr(RowFiles, "write", _failing)
    pipeline.step({"s": [(7,)]})
    pipeline.step({"s": [(7,)]})  # before it the state is written, if it can be
    assert told == ["the state after step 1 is not written: [Errno 28] No space left on device"]
    monkeypatch.undo()
    pipeline.close()
    assert [path.name for path in (tmp_path / "state").iterdir()] == ["000000000002"]


def _failing(*_: object) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


def test_an_interrupt_leaves_nothing_behind(interpreting: Any, tmp_path: Path, monkeypatch: Any) -> None:
    pipeline, _, _ = opened(tmp_path, SMALL)

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    pipeline.step({"s": [(7,)]})
    monkeypatch.setattr(RowFiles, "write", interrupted)
    with pytest.raises(KeyboardInterrupt):
        pipeline.step({"s": [(7,)]})
    assert list((tmp_path / "state").iterdir()) == []
    monkeypatch.undo()
    pipeline.step({"s": [(7,)]})
    pipeline.close()
    again, told, last = opened(tmp_path, SMALL)
    assert (told, last, again.content("counted").rows) == ([], 2, [(7, 2)])
    again.close()


@pytest.fixture
def files(interpreting: Any, tmp_path: Path) -> RowFiles:
    return RowFiles(Workspace(interpreting), tmp_path)


def numbers(files: RowFiles) -> Layer:
    rows = pa.table({"k": [1, 2, 3], "__weight": [1, 1, -1], "__key": [1, 2, 3]})
    return Layer(files.workspace, files.workspace.given(rows), 3)


def test_a_folder_that_cannot_be_written_is_said(files: RowFiles) -> None:
    (files.folder / "file").touch()
    elsewhere = RowFiles(files.workspace, files.folder / "file")
    with pytest.raises(DataError, match="cannot be written") as refused:
        elsewhere.write(numbers(files).frame, 3)
    assert refused.value.code == "CANNOT_WRITE"


def test_rows_that_only_executors_see_are_said(files: RowFiles, monkeypatch: Any) -> None:
    monkeypatch.setattr(Path, "glob", lambda *_: iter(()))
    files.workspace.local_master = False
    with pytest.raises(DataError, match="do not see the folder"):
        files.write(numbers(files).frame, 3)


def test_fewer_rows_than_were_written_are_not_used(files: RowFiles) -> None:
    kept = files.write(numbers(files).frame, 3)
    assert files.by_key(kept)[1] == kept.rows == 3
    with pytest.raises(DataError, match=r"of 4 rows in spark-.* Spark has read 3"):
        files.evaluated(replace(kept, rows=4))


@pytest.mark.parametrize("name", ["/etc/passwd", "../other/part-0.parquet"])
def test_files_of_elsewhere_are_not_read(name: str, files: RowFiles) -> None:
    kept = files.write(numbers(files).frame, 3)
    with pytest.raises(DataError, match="a snapshot has no files elsewhere"):
        files.evaluated(replace(kept, files=(name,)))


def test_names_that_differ_in_case_alone_are_kept(files: RowFiles) -> None:
    frame = files.workspace.sql("SELECT 1 AS a, 2 AS A, 3 AS `a b`")
    found, _ = files.evaluated(files.write(frame, 1))
    assert (found.columns, found.collect()) == (["a", "A", "a b"], [(1, 2, 3)])


def test_names_that_differ_in_case_alone_within_a_struct_are_refused(files: RowFiles) -> None:
    frame = files.workspace.sql("SELECT named_struct('a', 1, 'A', 2) AS s")
    with pytest.raises(UnsupportedError, match="a snapshot cannot hold this"):
        files.write(frame, 1)


def test_intervals_and_times_of_long_ago_are_the_same(files: RowFiles) -> None:
    frame = files.workspace.sql(
        "SELECT INTERVAL '1-2' YEAR TO MONTH AS a, INTERVAL '-3' YEAR AS b, "
        "INTERVAL '1 2:3:4.000005' DAY TO SECOND AS c, "
        "TIMESTAMP'0001-01-01 00:00:00.000001' AS d, TIMESTAMP'1582-10-09 00:00:00' AS e, CAST(X'ff' AS STRING) AS f"
    )
    found, _ = files.evaluated(files.write(frame, 1))
    asked = [
        "CAST(a AS STRING)",
        "CAST(b AS STRING)",
        "CAST(c AS STRING)",
        "unix_micros(d)",
        "unix_micros(e)",
        "hex(f)",
    ]
    assert [item.dataType for item in found.schema] == [item.dataType for item in frame.schema]
    assert found.selectExpr(*asked).collect() == frame.selectExpr(*asked).collect()


def test_a_layer_without_rows_is_one_again(files: RowFiles) -> None:
    frame = numbers(files).frame.where("false")
    assert files.by_key(files.write(frame, 0))[1] == 0


def test_a_layer_is_partitioned_as_others_are(files: RowFiles) -> None:
    """A union of it and one that never was written needs no exchange to be grouped by the key."""
    workspace = files.workspace
    rows = pa.table({"k": list(range(500)), "__weight": [1] * 500})
    keyed = workspace.sql(f"SELECT *, xxhash64(k) AS __key FROM {workspace.name(workspace.given(rows))}")
    kept = Layer(workspace, *by_key(workspace, keyed, workspace.partitions))
    read = Layer(workspace, *files.by_key(files.write(kept.frame, kept.rows)))
    trace = Trace(workspace, keyed.schema, layers=(read, kept))
    found = workspace.sql(f"SELECT __key, SUM(__weight) FROM {trace.view} GROUP BY __key")
    assert "Exchange" not in found._jdf.queryExecution().executedPlan().toString()
    assert found.count() == 500
