"""Several sources of one table, one after the other: order, positions, going on in the one where a step ended."""

import json

import pyarrow as pa
import pytest
from tests.steps.tables import declared

import penstock
from penstock.errors import SqlError
from penstock.sources import api

deltalake = pytest.importorskip("deltalake")


def program(past, folder, more=""):
    return f"""
    CREATE TABLE t (a INT, s STRING) WITH (
      'connector' = 'files', 'path' = '{folder}', 'format' = 'json',
      'start_after' = 'delta', 'start_after.path' = '{past}'{more});
    CREATE MATERIALIZED VIEW v AS SELECT s, COUNT(*) AS n, SUM(a) AS a FROM t GROUP BY s;
    """


@pytest.fixture
def past(tmp_path):
    table = pa.table({"a": pa.array([1, 2, 3], pa.int32()), "s": ["past"] * 3})
    deltalake.write_deltalake(str(tmp_path / "past"), table)
    return tmp_path / "past"


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "now").mkdir()
    write(tmp_path / "now", "1", 10, 20)
    return tmp_path / "now"


def write(folder, name, *values):
    lines = "".join(json.dumps({"a": value, "s": "now"}) + "\n" for value in values)
    (folder / f"{name}.json").write_text(lines)


def content(pipeline):
    return sorted(pipeline.query("SELECT * FROM v").rows)


def test_the_past_comes_first_and_then_what_follows(past, folder):
    with penstock.Pipeline(program(past, folder), engine="native") as pipeline:
        pipeline.run(once=True)
        assert content(pipeline) == [("now", 2, 30), ("past", 3, 6)]
        (fact,) = pipeline.sources()
        assert f", then {folder}" in fact.source
        assert {item["source"] for item in fact.position} == {0, 1}


def test_a_pipeline_goes_on_in_the_source_in_which_it_was(past, folder, tmp_path):
    from penstock.pipeline.run import RunOptions

    directory = tmp_path / "dir"
    small = RunOptions(first_rows=2, least_rows=2, most_rows=2, most_steps=1)
    for expected in ([("past", 2, 3)], [("past", 3, 6)], [("now", 2, 30), ("past", 3, 6)]):
        with penstock.Pipeline(program(past, folder), engine="native", directory=directory) as pipeline:
            pipeline.run(once=True, options=small)
            assert content(pipeline) == expected
    # What the table of the past gets now is not read any more: the next source has begun.
    deltalake.write_deltalake(str(past), pa.table({"a": pa.array([9], pa.int32()), "s": ["past"]}), mode="append")
    write(folder, "2", 30)
    with penstock.Pipeline(program(past, folder), engine="native", directory=directory) as pipeline:
        pipeline.run(once=True)
        assert content(pipeline) == [("now", 3, 60), ("past", 3, 6)]


def test_what_was_refused_is_read_again_in_its_source(past, folder):
    with penstock.Pipeline(program(past, folder), engine="native") as pipeline:
        source = pipeline._opened().opened_sources()[0]
        from penstock.steps.rows.rejected import Rejections

        def read():
            batch = source.read(100, Rejections())
            return None if batch is None else batch.rows.column("a").to_pylist()

        assert read() == [1, 2, 3]
        source.commit()
        assert read() == [10, 20]
        source.rewind()
        assert read() == [10, 20]
        taken = source.taken()
        source.commit()
        assert read() is None
        again = pipeline._opened().sources.pop("t") and pipeline._opened().opened_sources()[0]
        again.seek(taken)
        batch = again.read(100, Rejections())
        assert batch.rows.column("a").to_pylist() == [10, 20]
        assert batch.table is again.table


def test_one_before_another_before_a_third(past, folder, tmp_path):
    (tmp_path / "first").mkdir()
    write(tmp_path / "first", "0", 1000)
    more = f", 'start_after.start_after' = 'files', 'start_after.start_after.path' = '{tmp_path / 'first'}'"
    more += ", 'start_after.start_after.format' = 'json'"
    with penstock.Pipeline(program(past, folder, more), engine="native") as pipeline:
        source = pipeline._opened().opened_sources()[0]
        assert [item.table.properties["connector"] for item in source.sources] == ["files", "delta", "files"]
        pipeline.run(once=True)
        assert content(pipeline) == [("now", 3, 1030), ("past", 3, 6)]


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (
            "'connector' = 'files', 'path' = 'x', 'start_after' = 'delt'",
            "UNKNOWN_CONNECTOR",
            "'start_after' of table t",
        ),
        ("'connector' = 'files', 'path' = 'x', 'start_after' = 'delta'", "MISSING_PROPERTY", "'path'"),
        (
            "'connector' = 'files', 'path' = 'x', 'start_after' = 'delta', 'start_after.paht' = 'y'",
            "UNKNOWN_PROPERTY",
            "paht",
        ),
        ("'start_after' = 'delta', 'start_after.path' = 'y'", "MISSING_PROPERTY", "has a connector"),
    ],
    ids=["no such connector", "no path", "misspelt", "nothing after it"],
)
def test_what_cannot_be_is_said_before_the_start(words, code, told):
    with pytest.raises(SqlError) as caught:
        api.check_source(declared(f"CREATE TABLE t (a INT) WITH ({words})"))
    (found, *_) = caught.value.diagnostics
    assert (found.code, told in found.message) == (code, True)
