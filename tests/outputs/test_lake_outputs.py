"""Tables of lakes as outputs: added to and merged by key, each step once, whose they are, what they refuse."""

import random
from collections import Counter

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

import penstock
from penstock.errors import DataError, SqlError

T = "SET engine = 'native'; CREATE TABLE t (k STRING, v INT);"
SUMS = "SELECT k, SUM(v) AS s, COUNT(*) AS n FROM t GROUP BY k"


@pytest.fixture
def path(tmp_path):
    return str(tmp_path / "lake")


def view(path, query, **said):
    words = "".join(f", '{name}' = '{value}'" for name, value in said.items())
    return f"{T} CREATE VIEW v WITH ('connector' = 'delta', 'path' = '{path}'{words}) AS {query};"


def refused(program, text):
    """The program is refused when its outputs are opened."""
    with penstock.Pipeline(program) as pipeline, pytest.raises(DataError, match=text):
        pipeline.step({"t": [("a", 1)]})


def content(path):
    found = DeltaTable(path).to_pyarrow_table()
    return Counter(zip(*(column.to_pylist() for column in found.columns), strict=True))


def test_oracle_a_merged_table_is_the_view_after_each_step(path):
    chance, held = random.Random(5), []
    with penstock.Pipeline(view(path, SUMS)) as pipeline:
        for _ in range(12):
            gone = [held.pop(chance.randrange(len(held))) for _ in range(chance.randrange(3)) if held]
            come = [
                (chance.choice(["a", "b", "c", None]), chance.choice([1, 2, None])) for _ in range(chance.randrange(4))
            ]
            held += come
            pipeline.step({"t": [("-", row) for row in gone] + [("+", row) for row in come]})
            assert content(path) == Counter(pipeline.query("SELECT * FROM v").rows)


def test_rows_are_added_as_often_as_they_come(path):
    program = view(path, "SELECT k, v + 1 AS w FROM t").replace("TABLE t", "STREAM t")
    with penstock.Pipeline(program) as pipeline:
        pipeline.step({"t": [("a", 1), ("a", 1)]})
        pipeline.step({"t": [("a", 1), ("b", None)]})
    assert content(path) == {("a", 2): 3, ("b", None): 1}


def test_a_commit_has_the_number_of_its_step_and_is_made_once(path, tmp_path):
    program = view(path, SUMS)
    with penstock.Pipeline(program, directory=tmp_path / "dir") as pipeline:
        pipeline.step({"t": [("a", 1)]})
        pipeline.step({"t": [("a", 1)]})
        (outlet,) = penstock_outlets(pipeline)
        receiver = outlet.opened(owner_of(tmp_path / "dir"))
        assert receiver.taken() == pipeline.steps
    table = DeltaTable(path)
    assert table.history(1)[0]["penstock.step"] == str(receiver.taken())
    assert table.transaction_version(receiver.owner) == receiver.taken()


def penstock_outlets(pipeline):
    from penstock.outputs.connectors import outlets_of

    return outlets_of(pipeline.catalog)


def owner_of(directory):
    from penstock.outputs.receiver import Owner
    from penstock.steps.directory import directory_id

    return Owner(directory_id(directory), directory)


def test_a_table_of_another_pipeline_is_refused_or_emptied(path):
    with penstock.Pipeline(view(path, SUMS)) as pipeline:
        pipeline.step({"t": [("a", 1)]})
    refused(view(path, SUMS), "holds what another pipeline has written")
    with penstock.Pipeline(view(path, SUMS, on_other_pipeline="replace")) as pipeline:
        pipeline.step({"t": [("b", 2)]})
    assert content(path) == {("b", 2, 1): 1}


def test_a_table_that_is_there_is_used_if_its_columns_fit(path, tmp_path):
    schema = pa.schema([("more", pa.string()), ("n", pa.int64()), ("s", pa.int64()), ("k", pa.string())])
    write_deltalake(path, schema.empty_table())
    with penstock.Pipeline(view(path, SUMS)) as pipeline:
        pipeline.step({"t": [("a", 1)]})
    assert content(path) == {(None, 1, 1, "a"): 1}
    other = str(tmp_path / "other")
    write_deltalake(other, pa.schema([("k", pa.string()), ("s", pa.int32()), ("n", pa.int64())]).empty_table())
    refused(view(other, SUMS), "is int32, and view v gives BIGINT")
    third = str(tmp_path / "third")
    write_deltalake(third, pa.schema([("k", pa.string()), ("s", pa.int64())]).empty_table())
    refused(view(third, SUMS), "has no column n, only k, s")


def test_types_that_delta_does_not_have_are_refused(path):
    program = view(path, "SELECT INTERVAL '1' DAY AS i, k FROM t").replace("TABLE t", "STREAM t")
    with pytest.raises(SqlError, match="has no type for column i"), penstock.Pipeline(program) as pipeline:
        pipeline.step({"t": [("a", 1)]})


def test_a_query_that_takes_rows_back_is_not_appended(path):
    program = view(path, SUMS, form="append")
    with pytest.raises(SqlError, match="takes rows back"), penstock.Pipeline(program) as pipeline:
        pipeline.step({"t": [("a", 1)]})


def test_an_output_that_is_read_by_the_source_of_the_same_name(path):
    with penstock.Pipeline(view(path, SUMS)) as pipeline:
        pipeline.step({"t": [("a", 1), ("b", 2)]})
        pipeline.step({"t": [("-", ("a", 1))]})
    reader = f"""
        SET engine = 'native';
        CREATE TABLE r (k STRING PRIMARY KEY, s BIGINT, n BIGINT)
            USING delta LOCATION '{path}' OPTIONS (startingVersion 0);
        CREATE VIEW w AS SELECT * FROM r;"""
    with penstock.Pipeline(reader) as pipeline:
        pipeline.run(once=True)
        assert pipeline.query("SELECT * FROM w").rows == [("b", 2, 1)]
