"""`SET spark.…` of a program is the session's while the program runs."""

from __future__ import annotations

import pytest

import penstock
from penstock.catalog.settings import ANSI
from penstock.errors import DataError, SqlError, UnsupportedError

NAME = "spark.sql.files.maxPartitionBytes"
CASTS = "CREATE TABLE t (a STRING); CREATE VIEW v AS SELECT CAST(a AS INT) AS a FROM t"


def test_a_setting_of_spark_reaches_its_session_and_is_as_before_when_the_pipeline_is_closed(spark):
    before = spark.conf.get(NAME)
    with penstock.Pipeline(f"SET {NAME} = 1234567; CREATE TABLE t (a INT)", spark=spark) as pipeline:
        pipeline.step({})
        assert spark.conf.get(NAME) == "1234567"
        pipeline.execute(f"SET {NAME} = 7654321")
        assert spark.conf.get(NAME) == "7654321"
        pipeline.execute(f"RESET {NAME}")
        assert spark.conf.get(NAME) == before
        pipeline.execute(f"SET {NAME} = 1")
    assert spark.conf.get(NAME) == before


def test_a_value_that_spark_does_not_take_is_refused(spark):
    with penstock.Pipeline("CREATE TABLE t (a INT)", spark=spark) as pipeline, pytest.raises(SqlError) as caught:
        pipeline.execute("SET spark.sql.shuffle.partitions = 'many'")
    assert caught.value.code == "BAD_SETTING"


def test_a_session_given_without_ansi_mode_is_put_into_it(spark):
    spark.conf.set(ANSI, "false")
    with penstock.Pipeline(CASTS, spark=spark) as pipeline:
        with pytest.raises(DataError, match="CAST"):
            pipeline.step({"t": [("1",), ("x",)]})
        assert pipeline.step({"t": [("1",)]})["v"].rows == [(1, (1,))]
    assert spark.conf.get(ANSI) == "true"


def test_a_session_that_leaves_ansi_mode_answers_nothing_until_it_is_back(spark):
    with penstock.Pipeline(CASTS, spark=spark) as pipeline:
        pipeline.step({"t": [("1",)]})
        spark.conf.set(ANSI, "false")
        try:
            for asked in (
                lambda: pipeline.step({"t": [("x",)]}),
                lambda: pipeline.query("SELECT CAST('x' AS INT) AS a"),
                lambda: pipeline.execute("CREATE VIEW w AS SELECT CAST(a AS INT) AS a FROM t"),
                lambda: pipeline.verify("v"),
            ):
                with pytest.raises(UnsupportedError) as caught:
                    asked()
                assert caught.value.code == "ANSI_MODE"
                assert "set it to true again" in caught.value.diagnostics[0].hint
        finally:
            spark.conf.set(ANSI, "true")
        assert pipeline.step({"t": [("2",)]})["v"].rows == [(1, (2,))]
        assert pipeline.verify("v")
