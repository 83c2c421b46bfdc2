# ruff: noqa: DTZ001 - points in time are naive UTC datetimes, at the API too
"""Rows of every type through a pipeline: what is given comes back as it is, from tuples, pandas, Arrow and Spark."""

from datetime import datetime

import pandas as pd
import pyarrow as pa
import pytest

import penstock


def rows(changes, view):
    return sorted(changes[view].rows, key=repr)


def test_values_of_every_type_come_back_as_they_went_in(spark):
    from datetime import date
    from decimal import Decimal

    row = (
        True,
        1,
        2.5,
        Decimal("1.50"),
        "x",
        b"y",
        date(2024, 1, 1),
        datetime(2024, 1, 1, 1),
        [1, None],
        {"a": 1},
        {"b": {"c": 1}},
    )
    with penstock.Pipeline(
        """CREATE TABLE t (a BOOLEAN, b TINYINT, c FLOAT, d DECIMAL(5,2), e VARCHAR(3), f BINARY, g DATE, h TIMESTAMP,
                           i ARRAY<INT>, j STRUCT<a: INT>, k MAP<STRING, STRUCT<c: INT>>);
           CREATE VIEW v AS SELECT * FROM t""",
        spark=spark,
    ) as pipeline:
        assert pipeline.step({"t": [row]})["v"].rows == [(1, row)]
        assert pipeline.step({"t": [("-", row)]})["v"].rows == [(-1, row)]
        assert pipeline.verify("v")


def test_not_null_beside_other_operations(spark):
    text = "CREATE TABLE t (k INT PRIMARY KEY, v INT NOT NULL); CREATE VIEW w AS SELECT * FROM t;"
    columns = {"__op": ["+", "-"], "k": pa.array([1, 2], pa.int32())}
    with penstock.Pipeline(text, spark=spark) as pipeline:
        with pytest.raises(penstock.DataError, match="NOT NULL"):
            pipeline.step({"t": pa.table({**columns, "v": pa.array([None, None], pa.int32())})})
        rows = pa.table({**columns, "v": pa.array([7, None], pa.int32())})
        assert pipeline.step({"t": rows})["w"].rows == [(1, (1, 7))]


@pytest.mark.parametrize("size", [1_000, 60_000])
def test_an_arrival_order_that_is_null_comes_last(spark, size):
    text = "CREATE TABLE t (k BIGINT PRIMARY KEY, v BIGINT); CREATE VIEW w AS SELECT count(*) AS n, sum(v) AS s FROM t;"
    rows = spark.range(size).selectExpr("id AS k", "1L AS v", "IF(id = 7, NULL, id) AS __seq")
    more = spark.sql("SELECT 7L AS k, 5L AS v, 100L AS __seq")
    with penstock.Pipeline(text, spark=spark) as pipeline:
        assert pipeline.step({"t": rows.union(more)})["w"].rows == [(1, (size, size))]


def test_maps_and_variants_are_shown_and_defaulted_as_what_they_are(spark):
    program = """
        CREATE TABLE t (m MAP<STRING, INT>);
        CREATE TABLE d (id INT, x VARIANT DEFAULT parse_json('null'), m INTERVAL MONTH DEFAULT INTERVAL 3 MONTH,
            y ARRAY<VARIANT> DEFAULT array(parse_json('0.12345678901234567890')));
        CREATE VIEW maps AS SELECT m FROM t;
        CREATE VIEW odd AS SELECT map(named_struct('a', 1), 2) AS m, named_struct('`b', parse_json('1')) AS s FROM t;
        CREATE VIEW defaults AS SELECT id, is_variant_null(x) AS x, m * 2 AS m, to_json(y) AS y FROM d;
    """
    with penstock.Pipeline(program, spark=spark) as pipeline:
        changes = pipeline.step({"t": [({"a": 1},), ({"b": 1},)], "d": [{"id": 1}]})
        assert rows(changes, "maps") == [(1, ({"a": 1},)), (1, ({"b": 1},))]
        assert rows(changes, "odd") == [(2, ({(1,): 2}, {"`b": 1}))]
        assert rows(changes, "defaults") == [(1, (1, True, "INTERVAL '0-6' YEAR TO MONTH", "[0.1234567890123456789]"))]
        assert rows(pipeline.step({"t": [("-", ({"a": 1},)), ({"c": 1},)]}), "maps") == [
            (-1, ({"a": 1},)),
            (1, ({"c": 1},)),
        ]


def test_variants_that_python_finds_equal_are_rows_of_their_own(spark):
    program = "CREATE TABLE t (id INT PRIMARY KEY, v VARIANT); CREATE VIEW w AS SELECT v FROM t;"
    with penstock.Pipeline(program, spark=spark) as pipeline:
        assert rows(pipeline.step({"t": [(1, 1), (2, 2), (3, {})]}), "w") == [(1, (1,)), (1, (2,)), (1, ({},))]
        changes = rows(pipeline.step({"t": [(1, True), (3, [])]}), "w")
        assert [(weight, repr(row)) for weight, row in changes] == [
            (-1, "(1,)"),
            (-1, "({},)"),
            (1, "(True,)"),
            (1, "([],)"),
        ]
        assert rows(pipeline.execute("UPDATE t SET v = parse_json('null') WHERE id = 2"), "w") == [
            (-1, (2,)),
            (1, (None,)),
        ]


def test_an_update_holds_the_lengths_of_texts(spark):
    program = "CREATE TABLE t (id INT PRIMARY KEY, c CHAR(3), v VARCHAR(3)); CREATE VIEW w AS SELECT c, v FROM t;"
    with penstock.Pipeline(program, spark=spark) as pipeline:
        pipeline.execute("INSERT INTO t VALUES (1, 'a', 'b')")
        assert rows(pipeline.execute("UPDATE t SET c = 'z' WHERE id = 1"), "w") == [
            (-1, ("a  ", "b")),
            (1, ("z  ", "b")),
        ]
        with pytest.raises(penstock.DataError, match="longer than 3 characters"):
            pipeline.execute("UPDATE t SET v = 'toolong' WHERE id = 1")
        assert pipeline.verify("w")


def test_pandas_and_arrow_are_read_as_tuples_are(spark):
    import numpy as np

    program = """
        CREATE TABLE t (m MAP<STRING, INT>, v VARIANT, d DECIMAL(10, 2), f FLOAT);
        CREATE VIEW w AS SELECT to_json(m) AS m, to_json(v) AS v, d, f FROM t;
    """
    with penstock.Pipeline(program, spark=spark) as pipeline:
        given = {"m": [{"x": 1}, {"y": 2}], "v": [{"x": np.int64(1)}, 2.5], "d": [1.005, 2.675], "f": [0.5, None]}
        changes = pipeline.step({"t": pd.DataFrame(given)})
        assert [tuple(map(str, row)) for _, row in rows(changes, "w")] == [
            ('{"x":1}', '{"x":1}', "1.01", "0.5"),
            ('{"y":2}', "2.5", "2.68", "None"),
        ]
        with pytest.raises(penstock.DataError, match="out of range"):
            pipeline.step({"t": pa.table({"f": [1e39]})})


def test_lateness_of_the_least_and_longest_numbers(spark):
    program = """
        CREATE TABLE t (a BIGINT LATENESS 10);
        CREATE TABLE d (a DECIMAL(38, 0) LATENESS 10);
        CREATE VIEW v AS SELECT count(*) AS n FROM t;
        CREATE VIEW w AS SELECT count(*) AS n FROM d;
    """
    long = 12345678901234567890123456789012345678
    with penstock.Pipeline(program, spark=spark) as pipeline:
        pipeline.step({"t": [(-(1 << 63),)], "d": [(long,)]})
        changes = pipeline.step({"t": [(5,)], "d": [(long - 10,), (long - 11,)]})
        assert rows(changes, "v") == [(-1, (1,)), (1, (2,))]
        assert rows(changes, "w") == [(-1, (1,)), (1, (2,))]
