"""What cannot be is known before anything runs: packages, file systems, directories."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

import penstock
from penstock.cli.main import main
from penstock.steps.directory import check_possible


def check(program):
    return CliRunner().invoke(main, ["check", "-e", program]).stderr


KAFKA = "'connector' = 'kafka', 'topic' = 'x', 'properties.bootstrap.servers' = 'h:1', 'format' = 'json'"
NEEDS = {
    "confluent_kafka": ("kafka", KAFKA),
    "deltalake": ("lake", "'connector' = 'delta', 'path' = '/tmp/x'"),
    "pyiceberg": ("lake", "'connector' = 'iceberg', 'table' = 'a.b', 'catalog.uri' = 'x'"),
    "psycopg": ("postgres", "'connector' = 'postgres', 'connection' = 'postgresql://h/d', 'table' = 't'"),
    "sqlalchemy": ("sql", "'connector' = 'sql', 'url' = 'mysql+pymysql://h/d', 'table' = 't', 'column' = 'id'"),
    "fastavro": ("formats", "'connector' = 'files', 'path' = '/tmp', 'format' = 'avro'"),
    "google.protobuf": ("formats", KAFKA.replace("'json'", "'protobuf'")),
}


@pytest.mark.parametrize("module", NEEDS)
def test_a_connector_that_needs_an_extra_names_it(monkeypatch, module):
    extra, properties = NEEDS[module]
    monkeypatch.setitem(sys.modules, module, None)
    said = check(f"CREATE TABLE t (id INT) WITH (\n  {properties});")
    assert "error[MISSING_PACKAGE]: table t: '" in said
    assert f"needs a package that is not installed: {module}" in said
    assert f"pip install 'penstock[{extra}]'" in said
    assert "  at line 2, column " in said


def test_an_output_that_needs_an_extra_names_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "confluent_kafka", None)
    program = f"CREATE STREAM t (id INT);\nCREATE VIEW v WITH ({KAFKA}) AS SELECT id FROM t;"
    said = check(program)
    assert "error[MISSING_PACKAGE]: view v: 'connector' = 'kafka' needs" in said
    assert "  at line 2, column 35" in said
    with (
        pytest.raises(penstock.UnsupportedError, match=r"pip install 'penstock\[kafka\]'"),
        penstock.Pipeline(program) as p,
    ):
        p.execute("INSERT INTO t VALUES (1)")


@pytest.mark.parametrize("path", ["s3://bucket/x", "s3a://bucket/x", "gs://b", "abfss://c@a/x", "hdfs://n/x"])
def test_files_in_a_store_are_refused_with_what_reads_them(path):
    said = check(f"CREATE TABLE t (id INT) WITH ('connector' = 'files', 'path' = '{path}', 'format' = 'json');")
    assert f"error[NO_FILE_SYSTEM]: table t: files lie in folders of this machine, and {path} is in " in said
    assert "'connector' = 'spark'" in said
    assert "  at line 1, column 63" in said


def test_an_output_of_files_into_a_store_is_refused():
    properties = "'connector' = 'files', 'path' = 's3://b/x', 'format' = 'json'"
    said = check(f"CREATE STREAM t (id INT); CREATE VIEW v WITH ({properties}) AS SELECT id FROM t;")
    assert "error[NO_FILE_SYSTEM]: view v: files lie in folders of this machine, and s3://b/x is in s3" in said


PROGRAM = "CREATE TABLE t (a INT);"


def refused(directory):
    with pytest.raises(penstock.DataError) as caught:
        penstock.Pipeline(PROGRAM, directory=directory)
    assert caught.value.code == "CANNOT_BE_A_DIRECTORY"
    return caught.value.summary


def test_a_directory_that_cannot_be_made_is_refused_at_once():
    assert "nothing can be made in /proc" in refused("/proc/no/x")


def test_a_directory_that_is_a_file_or_below_one_is_refused_at_once(tmp_path):
    (tmp_path / "f").write_text("x", encoding="utf-8")
    (tmp_path / "l").symlink_to(tmp_path / "nowhere")
    assert refused(tmp_path / "f").endswith(f"{tmp_path}/f is a file")
    assert refused(tmp_path / "f" / "d").endswith(f"{tmp_path}/f is a file")
    assert refused(str(tmp_path / "l")).endswith(f"{tmp_path}/l is a link to nothing")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_directory_that_cannot_be_written_into_is_refused_at_once(tmp_path):
    tmp_path.chmod(0o500)
    assert "nothing can be written into" in refused(tmp_path)
    assert "nothing can be made in" in refused(tmp_path / "d")


def test_a_directory_in_a_store_is_refused_at_once():
    assert "lies in a file system of this machine" in refused("s3://bucket/state")
    assert not Path("s3:").exists()


def test_a_directory_that_can_be_is_left_as_it_is(tmp_path):
    check_possible(tmp_path / "a" / "b")
    check_possible(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_the_command_says_it_before_anything_runs(tmp_path):
    (tmp_path / "f").write_text("x", encoding="utf-8")
    result = CliRunner().invoke(main, ["run", "--once", "--dir", str(tmp_path / "f"), "-e", PROGRAM])
    assert result.exit_code in (1, 2)
    assert "is a file" in result.stderr or "CANNOT_BE_A_DIRECTORY" in result.stderr


def test_a_table_under_another_case_and_a_column_have_candidates():
    said = check("CREATE TABLE Orders (custId INT); CREATE VIEW v AS SELECT custid FROM order; ")
    assert "did you mean: Orders?" in said
    assert "did you mean: custId?" in check(
        "CREATE TABLE Orders (custId INT); CREATE VIEW v AS SELECT cust_id FROM Orders;"
    )
