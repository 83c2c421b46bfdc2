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
