"""`SET spark.…` of a program is the session's while the program runs."""

from __future__ import annotations

import pytest

import penstock
from penstock.errors import SqlError

NAME = "spark.sql.files.maxPartitionBytes"


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
