"""Functions that somebody has registered in the session of Spark: they are used as they are, and never translated."""

from __future__ import annotations

import pandas as pd
import pytest
from pyspark.sql.functions import pandas_udf

import penstock
from penstock.errors import SqlError, UnsupportedError

PROGRAM = """CREATE TABLE t (k INT, s STRING);
CREATE VIEW own AS SELECT k, length(s) AS n, own_twice(k) AS m FROM t;
CREATE VIEW sums AS SELECT length(s) AS n, SUM(own_twice(k)) AS m FROM t WHERE own_twice(k) > 2 GROUP BY length(s);
CREATE VIEW others AS SELECT k, char_length(s) AS n FROM t;
"""


def _mean(values: pd.Series) -> float:
    return values.mean()


@pytest.fixture
def session(spark):
    """One with functions of its own: new ones, and one in place of Spark's."""
    spark.udf.register("Length", lambda s: -len(s), "int")
    spark.udf.register("own_twice", lambda x: 2 * x, "bigint")
    spark.udf.register("own_drawn", spark.udf.register("own_drawn_too", lambda x: x, "int").asNondeterministic())
    spark.udf.register("own_mean", pandas_udf(_mean, "double"))
    yield spark
    registry = spark._jsparkSession.sessionState().functionRegistry()
    identifier = spark._jvm.org.apache.spark.sql.catalyst.FunctionIdentifier
    for name in ("length", "own_twice", "own_drawn", "own_drawn_too", "own_mean", "sum"):
        registry.dropFunction(identifier(name))
    builtin = spark._jvm.org.apache.spark.sql.catalyst.analysis.FunctionRegistry.builtin()
    for name in ("length", "sum"):
        entry = builtin.functionBuilders().apply(identifier(name))
        registry.registerFunction(identifier(name), entry._1(), entry._2())


def test_a_name_that_the_session_has_taken_is_its_function(session):
    with penstock.Pipeline(PROGRAM, spark=session) as pipeline:
        pipeline.step({"t": [(1, "a"), (2, "bcd"), (3, "efg")]})
        pipeline.step({"t": [("-", (3, "efg")), ("+", (4, "a"))]})
        assert sorted(pipeline.content("own").rows) == [(1, -1, 2), (2, -3, 4), (4, -1, 8)]
        assert sorted(pipeline.content("sums").rows) == [(-3, 4), (-1, 8)]
        assert pipeline.query("SELECT length(s) AS n FROM t WHERE k = 2").rows == [(-3,)]
        assert all(pipeline.verify(name).ok for name in ("own", "sums", "others"))
        assert "on Spark, for length(`s`) at 2:30" in pipeline.explain("own", ["circuit"])
        assert "on Spark" not in pipeline.explain("others", ["circuit"])


def test_a_view_above_stays_where_it_is_though_spark_has_been_asked_for_the_type(session):
    text = """CREATE TABLE t (k INT);
    CREATE VIEW a AS SELECT own_twice(k) AS x FROM t;
    CREATE VIEW b AS SELECT x, COUNT(*) AS n FROM a GROUP BY x;"""
    with penstock.Pipeline(text, spark=session) as pipeline:
        foreseen = pipeline.explain("b", ["circuit"])
        pipeline.step({"t": [(1,), (1,), (2,)]})
        assert pipeline.explain("b", ["circuit"]) == foreseen
        pipeline.execute("CREATE VIEW c AS SELECT x + 1 AS y, n FROM b WHERE n > 1")
        pipeline.step({"t": [("-", (1,)), (2,)]})
        assert sorted(pipeline.content("b").rows) == [(2, 1), (4, 2)]
        assert pipeline.content("c").rows == [(5, 2)]
        assert {item.where for item in pipeline.state() if "b" in item.views} == {"spark"}
        assert all(pipeline.verify(name).ok for name in "abc")


def test_native_refuses_it_with_its_place(session):
    with pytest.raises(UnsupportedError) as refused:
        penstock.Pipeline(PROGRAM, spark=session, engine="native").step({})
    assert refused.value.code == "NOT_NATIVE"
    assert "its operator Project needs Spark, for length(" in refused.value.render()
    assert "line 2, column 30" in refused.value.render()


@pytest.mark.parametrize("name", ["own_drawn", "own_mean"])
def test_what_is_not_decided_by_one_row_is_refused(session, name):
    text = f"CREATE TABLE t (k INT);\nCREATE VIEW v AS SELECT {name}(k) AS x FROM t;"
    with pytest.raises(UnsupportedError) as refused:
        penstock.Pipeline(text, spark=session).step({})
    assert f"a view cannot use {name}() of the session, which one row does not decide" in refused.value.render()
    assert "line 2, column 25" in refused.value.render()


def test_an_aggregate_that_is_none_any_more_is_refused(session):
    session.udf.register("sum", lambda _: 7, "int")
    with pytest.raises(UnsupportedError) as refused:
        penstock.Pipeline("CREATE TABLE t (k INT); CREATE VIEW v AS SELECT SUM(k) AS x FROM t;", spark=session)
    assert "the session has a function sum() of its own, in place of Spark's aggregate function" in str(refused.value)


def test_without_a_session_there_are_none():
    with pytest.raises(SqlError) as refused:
        penstock.Pipeline(PROGRAM, spark=penstock.LaterSession(lambda: pytest.fail("Spark was asked for"))).check()
    assert refused.value.code == "UNKNOWN_FUNCTION"


@pytest.mark.parametrize("engine", ["auto", "spark"])
def test_a_function_that_gives_the_session_is_asked_for_them(session, engine):
    with penstock.Pipeline(PROGRAM, spark=lambda: session, engine=engine) as pipeline:
        pipeline.step({"t": [(1, "a"), (2, "bcd")]})
        assert sorted(pipeline.content("own").rows) == [(1, -1, 2), (2, -3, 4)]
        assert pipeline.query("SELECT length(s) AS n FROM t WHERE k = 2").rows == [(-3,)]


def test_a_session_that_comes_later_with_a_function_in_place_of_sparks_is_refused(session):
    text = "CREATE TABLE t (s STRING); CREATE VIEW v AS SELECT length(s) AS n, xxhash64(s) AS h FROM t"
    with pytest.raises(UnsupportedError) as refused:
        penstock.Pipeline(text, spark=penstock.LaterSession(lambda: session)).step({"t": [("a",)]})
    assert refused.value.code == "SESSION_DIFFERS"
    assert "a function length() of its own" in str(refused.value)
