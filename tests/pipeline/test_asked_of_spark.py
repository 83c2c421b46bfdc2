"""Single values that only Spark can tell: it is asked when the first one comes and not before."""

from __future__ import annotations

import pytest

import penstock

PROGRAM = """
CREATE TABLE t (k INT PRIMARY KEY, told STRING);
CREATE VIEW v AS SELECT k, unix_micros(CAST(told AS TIMESTAMP)) AS at FROM t;
"""
PARIS = "2024-07-29 12:00:00 Europe/Paris"
HERE, THERE = 1722254400000000, 1722247200000000


def rows(pipeline):
    return sorted(pipeline.query("SELECT * FROM v").rows)


@pytest.mark.spark
def test_spark_is_asked_when_a_region_comes(spark):
    opened = []
    later = penstock.LaterSession(lambda: opened.append(spark) or spark)
    with penstock.Pipeline(PROGRAM, spark=later) as pipeline:
        pipeline.step({"t": [(1, "2024-07-29 12:00:00 UTC"), (2, None)]})
        assert not opened
        pipeline.step({"t": [(3, PARIS), (4, PARIS), (5, "2024-07-29T12:00:00Z")]})
        assert opened
        assert rows(pipeline) == [(1, HERE), (2, None), (3, THERE), (4, THERE), (5, HERE)]
        with pytest.raises(penstock.PenstockError, match=r"Europe/Pairs.*malformed"):
            pipeline.step({"t": [(6, "2024-07-29 12:00:00 Europe/Pairs")]})
        pipeline.step(sql="DELETE FROM t WHERE k = 3")
        assert rows(pipeline) == [(1, HERE), (2, None), (4, THERE), (5, HERE)]
        assert pipeline.verify("v")


def test_a_program_without_spark_says_that_it_cannot_tell():
    with penstock.Pipeline(PROGRAM, engine="native") as pipeline:
        pipeline.step({"t": [(1, "2024-07-29 12:00:00+02:00")]})
        with pytest.raises(penstock.PenstockError, match=r"Europe/Paris.*only Spark can tell"):
            pipeline.step({"t": [(2, PARIS)]})
        assert rows(pipeline) == [(1, THERE)]


NUMBERS = """
CREATE TABLE t (k INT PRIMARY KEY, x DOUBLE);
CREATE VIEW v AS SELECT k, 'x' || x AS told FROM t;
"""


@pytest.mark.spark
def test_spark_is_asked_for_the_text_of_a_number_that_java_may_write_with_more_digits(spark):
    opened = []
    later = penstock.LaterSession(lambda: opened.append(spark) or spark)
    with penstock.Pipeline(NUMBERS, spark=later) as pipeline:
        pipeline.step({"t": [(1, 0.1), (2, 1e7), (3, -2.5e-7), (4, float("nan")), (5, -0.0), (6, None)]})
        assert not opened
        assert rows(pipeline) == [
            (1, "x0.1"), (2, "x1.0E7"), (3, "x-2.5E-7"), (4, "xNaN"), (5, "x-0.0"), (6, None),
        ]  # fmt: skip
        pipeline.step({"t": [(7, 7.75050337447207e18), (8, 5e-324)]})
        assert opened
        assert pipeline.verify("v")
        pipeline.step(sql="DELETE FROM t WHERE k = 7")
        assert pipeline.verify("v")


def test_a_program_without_spark_says_that_it_cannot_write_such_a_number():
    with penstock.Pipeline(NUMBERS, engine="native") as pipeline:
        pipeline.step({"t": [(1, 9007199254740991.0)]})
        with pytest.raises(penstock.PenstockError, match=r"7\.75.*only Spark can tell"):
            pipeline.step({"t": [(2, 7.75050337447207e18)]})
        assert rows(pipeline) == [(1, "x9.007199254740991E15")]


SINGLE = NUMBERS.replace("DOUBLE", "FLOAT")


@pytest.mark.spark
def test_spark_is_asked_for_the_text_of_a_float_that_is_large(spark):
    opened = []
    later = penstock.LaterSession(lambda: opened.append(spark) or spark)
    with penstock.Pipeline(SINGLE, spark=later) as pipeline:
        pipeline.step({"t": [(1, 0.1), (2, 1e7), (3, -2.5e-6), (4, float("nan")), (5, -0.0), (6, None)]})
        pipeline.step({"t": [(7, 2234752.25), (8, 19.99), (9, -131072.125), (10, 2.00390625)]})
        assert not opened
        assert rows(pipeline) == [
            (1, "x0.1"), (2, "x1.0E7"), (3, "x-2.5E-6"), (4, "xNaN"), (5, "x-0.0"), (6, None), (7, "x2234752.2"),
            (8, "x19.99"), (9, "x-131072.12"), (10, "x2.0039062"),
        ]  # fmt: skip
        pipeline.step({"t": [(11, 1.2e11), (12, 1e-9)]})
        assert opened
        assert pipeline.verify("v")
        pipeline.step(sql="DELETE FROM t WHERE k = 11")
        assert pipeline.verify("v")


def test_a_program_without_spark_says_that_it_cannot_write_such_a_float():
    with penstock.Pipeline(SINGLE, engine="native") as pipeline:
        pipeline.step({"t": [(1, 16777215.0)]})
        with pytest.raises(penstock.PenstockError, match=r"33554432\.0.*only Spark can tell"):
            pipeline.step({"t": [(2, 33554432.0)]})
        assert rows(pipeline) == [(1, "x1.6777215E7")]


@pytest.mark.spark
@pytest.mark.parametrize(
    "query", ["SELECT 1 / (k - 1) FROM t", "SELECT parse_json(told) FROM t", "SELECT sequence(1, k + 1, -9) FROM t"]
)
@pytest.mark.parametrize(
    "read", [lambda answer: answer.rows, lambda answer: answer.arrow(), lambda answer: answer.show()]
)
def test_what_an_answer_raises_is_an_error_of_values(spark, query, read):
    with penstock.Pipeline(PROGRAM, spark=spark, engine="spark") as pipeline:
        pipeline.step({"t": [(1, "2024-07-29 12:00:00")]})
        with pytest.raises(penstock.DataError):
            read(pipeline.query(query))


DOCUMENTS = """
CREATE TABLE t (k INT PRIMARY KEY, raw STRING);
CREATE VIEW v AS SELECT k, get_json_object(raw, '$.a') AS a, CAST(get_json_object(raw, '$.n[1]') AS INT) AS n FROM t;
"""
LENIENT = "{'a': \"it's\"}"


@pytest.mark.spark
def test_spark_is_asked_for_json_as_hardly_anybody_writes_it(spark):
    opened = []
    later = penstock.LaterSession(lambda: opened.append(spark) or spark)
    with penstock.Pipeline(DOCUMENTS, spark=later) as pipeline:
        pipeline.step({"t": [(1, '{"a": "x", "n": [0, 7]}'), (2, None), (3, '{"a": {"b": [1.50]}}'), (4, "it's none")]})
        assert not opened
        pipeline.step({"t": [(5, LENIENT), (6, LENIENT), (7, '{"a": 1e300}')]})
        assert opened
        assert rows(pipeline) == [
            (1, "x", 7), (2, None, None), (3, '{"b":[1.5]}', None), (4, None, None), (5, "it's", None),
            (6, "it's", None), (7, "1.0E300", None),
        ]  # fmt: skip
        pipeline.step(sql="DELETE FROM t WHERE k = 5")
        assert pipeline.verify("v")


def test_a_program_without_spark_says_that_it_cannot_read_such_json():
    with penstock.Pipeline(DOCUMENTS, engine="native") as pipeline:
        pipeline.step({"t": [(1, '{"a": "it\'s"}')]})
        with pytest.raises(penstock.PenstockError, match=r"JSON of a kind of which only Spark can tell"):
            pipeline.step({"t": [(2, LENIENT)]})
        assert rows(pipeline) == [(1, "it's", None)]


@penstock.LaterSession
def no_spark():
    pytest.fail("Spark was asked for")


RAW = [
    '{"a": "x", "b": {"c": 1.50, "d": [true, null]}, "n": -7}',
    '{"a": null, "b": {}, "n": "12"}',
    '{"n": 1.5, "a": 1e2}',
    '{"a": {"b": []}}',
    "no JSON",
    '{"a": "cut off',
    "",
    None,
]


@pytest.mark.parametrize(
    ("dialect", "query", "wanted"),
    [
        (
            "penstock",
            "SELECT get_json_object(raw, '$.a') AS a, get_json_object(raw, '$.b.d[1]') AS d FROM t",
            [("x", "null"), (None, None), ("100.0", None), ('{"b":[]}', None), *[(None, None)] * 4],
        ),
        (
            "timeplus",
            "SELECT raw:a AS a, raw:b.d[1] AS d, json_extract_int(raw, 'n') AS n, raw:b.c::float64 AS c FROM t",
            [
                ("x", "true", -7, 1.5), (None, None, 12, None), ("100.0", None, None, None),
                ('{"b":[]}', None, None, None), *[(None, None, None, None)] * 4,
            ],
        ),
        (
            "flink",
            "SELECT JSON_VALUE(raw, '$.a') AS a, JSON_VALUE(raw, 'lax $.n' RETURNING INT) AS n FROM t",
            [("x", -7), (None, 12), ("100.0", None), ('{"b":[]}', None), *[(None, None)] * 4],
        ),
    ],
)  # fmt: skip
def test_an_ordinary_program_needs_no_spark(dialect, query, wanted):
    text = f"CREATE TABLE t (k INT, raw STRING);\nCREATE VIEW v AS {query};"
    with penstock.Pipeline(text, spark=no_spark, dialect=dialect) as pipeline:
        pipeline.step({"t": list(enumerate(RAW))})
        assert sorted(pipeline.query("SELECT * FROM v").rows, key=repr) == sorted(wanted, key=repr)
