"""Tables of Iceberg as outputs: added to and merged by key, each step once, whose they are, what they refuse."""

import math
import random
from collections import Counter

import pyarrow as pa
import pytest

import penstock
from penstock.errors import DataError, SqlError

catalogs = pytest.importorskip("pyiceberg.catalog")
T = "SET engine = 'native'; CREATE TABLE t (k STRING, v INT);"
SUMS = "SELECT k, SUM(v) AS s, COUNT(*) AS n FROM t GROUP BY k"


@pytest.fixture
def catalog(tmp_path):
    (tmp_path / "lake").mkdir()
    return {"type": "sql", "uri": f"sqlite:///{tmp_path}/lake.db", "warehouse": f"file://{tmp_path}/lake"}


def view(catalog, query, tables=T, **said):
    words = {"table": "shop.totals", **{f"catalog.{name}": value for name, value in catalog.items()}, **said}
    texts = "".join(f", '{name}' = '{value}'" for name, value in words.items())
    return f"{tables} CREATE VIEW v WITH ('connector' = 'iceberg'{texts}) AS {query};"


def loaded(catalog):
    return catalogs.load_catalog("default", **catalog).load_table("shop.totals")


def content(catalog):
    found = loaded(catalog).scan().to_arrow()
    return Counter(zip(*(column.to_pylist() for column in found.columns), strict=True))


def test_oracle_a_merged_table_is_the_view_after_each_step(catalog):
    chance, held = random.Random(5), []
    with penstock.Pipeline(view(catalog, SUMS)) as pipeline:
        for _ in range(6):
            gone = [held.pop(chance.randrange(len(held))) for _ in range(chance.randrange(3)) if held]
            come = [
                (chance.choice(["a", "b", "c", None]), chance.choice([1, 2, None]))
                for _ in range(1 + chance.randrange(3))
            ]
            held += come
            pipeline.step({"t": [("-", row) for row in gone] + [("+", row) for row in come]})
            assert content(catalog) == Counter(pipeline.query("SELECT * FROM v").rows)


def test_keys_of_several_columns_and_null(catalog):
    table = "SET engine = 'native'; CREATE TABLE t (a INT, b INT, c STRING);"
    query = "SELECT a, b, c, COUNT(*) AS n FROM t GROUP BY a, b, c"
    rows = [(a, b, c) for a in (None, 1) for b in (None, 2) for c in ("x", None)]
    with penstock.Pipeline(view(catalog, query, table)) as pipeline:
        pipeline.step({"t": rows})
        pipeline.step({"t": rows[:5]})
        pipeline.step({"t": [("-", row) for row in rows[3:]]})
        assert content(catalog) == Counter(pipeline.query("SELECT * FROM v").rows)


def test_a_condition_on_keys_knows_null_and_nan():
    from penstock.outputs.iceberg.receiver import _any_of

    keys = pa.table({"a": [1.5, math.nan, None], "b": ["x", "x", "y"]})
    told = str(_any_of(keys))
    assert [told.count(word) for word in ("IsNaN", "IsNull", "Or(")] == [1, 1, 2]


def test_rows_are_added_and_a_commit_is_made_once(catalog, tmp_path):
    program = view(catalog, "SELECT k, v + 1 AS w FROM t").replace("TABLE t", "STREAM t")
    for _ in range(2):
        with penstock.Pipeline(program, directory=tmp_path / "dir") as pipeline:
            pipeline.step({"t": [("a", 1), ("a", 1)]})
            steps = pipeline.steps
    assert content(catalog) == {("a", 2): 4}
    table = loaded(catalog)
    assert [snapshot.summary["penstock.step"] for snapshot in table.snapshots()] == ["1", "2"]
    assert [value for name, value in table.properties.items() if name.startswith("penstock.step.")] == [str(steps)]


def test_a_step_that_was_taken_is_not_taken_again(catalog, tmp_path):
    from penstock.outputs.connectors import outlets_of
    from penstock.outputs.receiver import Owner
    from penstock.steps.directory import directory_id

    with penstock.Pipeline(view(catalog, SUMS), directory=tmp_path / "dir") as pipeline:
        pipeline.step({"t": [("a", 1)]})
        (outlet,) = outlets_of(pipeline.catalog)
        owner = Owner(directory_id(tmp_path / "dir"), tmp_path / "dir")
        assert outlet.opened(owner).taken() == pipeline.steps
        assert outlet.describe().endswith("upsert by (k), exactly once")


def test_another_pipeline_is_refused_or_takes_over(catalog):
    with penstock.Pipeline(view(catalog, SUMS)) as pipeline:
        pipeline.step({"t": [("a", 1)]})
    with penstock.Pipeline(view(catalog, SUMS)) as pipeline, pytest.raises(DataError, match="another pipeline"):
        pipeline.step({"t": [("b", 1)]})
    with penstock.Pipeline(view(catalog, SUMS, on_other_pipeline="replace")) as pipeline:
        pipeline.step({"t": [("b", 1)]})
    assert content(catalog) == {("b", 1, 1): 1}


def test_a_table_with_other_columns_is_refused(catalog):
    made = catalogs.load_catalog("default", **catalog)
    made.create_namespace("shop")
    made.create_table("shop.totals", pa.schema([("k", pa.string()), ("s", pa.string())]))
    with penstock.Pipeline(view(catalog, SUMS)) as pipeline, pytest.raises(DataError) as caught:
        pipeline.step({"t": [("a", 1)]})
    assert caught.value.diagnostics[0].code == "OUTPUT_DIFFERS"


def test_a_name_without_a_namespace_and_a_secret_in_the_catalog(catalog, monkeypatch, tmp_path):
    with pytest.raises(SqlError, match="no name with its namespace"):
        penstock.Pipeline(view(catalog, SUMS, table="totals")).step({})
    monkeypatch.setenv("PENSTOCK_TEST_SECRET", "open sesame")
    wrong = {**catalog, "uri": "postgresql://u:${env:PENSTOCK_TEST_SECRET}@127.0.0.1:1/x"}
    with (
        penstock.Pipeline(view(wrong, SUMS), directory=tmp_path / "dir") as pipeline,
        pytest.raises(DataError) as caught,
    ):
        pipeline.step({"t": [("a", 1)]})
    assert "open sesame" not in str(caught.value)
