"""What a pipeline keeps in its directory is neither read by its tables nor put among other files."""

from __future__ import annotations

import json

import pytest

import penstock
from penstock.errors import DataError

STREAM = "CREATE STREAM t (k STRING) WITH ('connector' = 'files', {});\nCREATE VIEW v AS SELECT k FROM t;"


def refused(text, directory, code):
    with pytest.raises(DataError) as caught, penstock.Pipeline(text, engine="native", directory=directory) as pipeline:
        pipeline.run(once=True)
    (found,) = caught.value.diagnostics
    assert found.code == code
    return found


@pytest.mark.parametrize(
    ("reads", "directory"),
    [
        ("'path' = '{0}'", "state"),
        ("'path' = '{0}', 'format' = 'parquet'", "a/b/state"),
        ("'path' = '{0}/**/*.json'", "state"),
        ("'path' = '{0}/state/*.json'", "state"),
        ("'path' = '{0}', 'format' = 'csv', 'pattern' = '*'", "state"),
        ("'path' = '{0}/state'", "state"),
        ("'path' = '{0}/state/log/steps', 'format' = 'csv'", "state"),
        ("'path' = '{0}/state/log/data/t', 'format' = 'avro'", "state"),
    ],
)
def test_a_table_that_would_read_what_its_pipeline_keeps(tmp_path, reads, directory):
    folder = tmp_path / directory
    found = refused(STREAM.format(reads.format(tmp_path)), folder, "DIRECTORY_READ_BACK")
    assert found.message.startswith(f"table t would read what the pipeline itself keeps in {folder}: {tmp_path}")
    assert not (folder / "log" / "steps").exists()


@pytest.mark.parametrize(
    ("reads", "directory"),
    [
        ("'path' = '{0}/in'", "state"),
        ("'path' = '{0}', 'pattern' = 'in/*.json'", "state"),
        ("'path' = '{0}/*/a.json'", "state"),
        ("'path' = '{0}'", "_state"),
        ("'path' = '{0}'", ".state"),
        ("'path' = '{0}/state/in'", "state"),
    ],
)
def test_a_table_beside_whose_files_the_pipeline_keeps_its_own(tmp_path, reads, directory):
    with penstock.Pipeline(engine="native", directory=tmp_path / directory) as pipeline:
        pipeline.execute("CREATE TABLE other (x INT)")
    for place in ("in", "state/in"):
        (tmp_path / place).mkdir(parents=True, exist_ok=True)
        (tmp_path / place / "a.json").write_text(json.dumps({"k": "a"}), encoding="utf-8")
    text = "CREATE TABLE other (x INT);\n" + STREAM.format(reads.format(tmp_path))
    with penstock.Pipeline(engine="native", directory=tmp_path / directory) as pipeline:
        pipeline.execute(text.partition("\n")[2])
        for _ in range(2):
            pipeline.run(once=True)
        assert set(pipeline.query("SELECT k FROM v").rows) == {("a",)}


def test_a_table_that_is_declared_later(tmp_path):
    with penstock.Pipeline(engine="native", directory=tmp_path / "state") as pipeline:
        with pytest.raises(DataError) as caught:
            pipeline.execute(STREAM.format(f"'path' = '{tmp_path}'"))
        assert caught.value.diagnostics[0].code == "DIRECTORY_READ_BACK"
        assert not pipeline.catalog.tables


def test_a_folder_of_other_files_is_no_directory_for_a_pipeline(tmp_path):
    (tmp_path / "orders.json").write_text("{}", encoding="utf-8")
    (tmp_path / "program.sql").touch()
    found = refused("CREATE TABLE t (k STRING);", tmp_path, "FOREIGN_DIRECTORY")
    assert found.message == f"{tmp_path} is not the directory of a pipeline, and not empty: orders.json and 1 more"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["orders.json", "program.sql"]


def test_a_folder_in_which_a_file_system_begins_is_one(tmp_path):
    (tmp_path / "lost+found").mkdir()
    (tmp_path / ".gitkeep").touch()
    for _ in range(2):
        with penstock.Pipeline("CREATE TABLE t (k STRING);", engine="native", directory=tmp_path) as pipeline:
            pipeline.step({"t": [("a",)]})
    (tmp_path / "notes.txt").touch()
    with penstock.Pipeline("CREATE TABLE t (k STRING);", engine="native", directory=tmp_path) as pipeline:
        assert pipeline.steps == 2
