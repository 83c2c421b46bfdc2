"""Rows on executors that are gone: the step that needs them says so, and the log makes them again."""

from __future__ import annotations

import pytest
from pyspark.errors import PySparkException

import penstock
from penstock.backends.spark.raised import of_surroundings
from penstock.errors import DataError

SUMS = "CREATE TABLE t (k STRING, v INT); CREATE VIEW s AS SELECT k, SUM(v) AS s FROM t GROUP BY k;"


@pytest.mark.extended
def test_a_step_that_needs_rows_which_are_gone_names_them_and_another_run_goes_on(spark, tmp_path):
    context = spark.sparkContext
    kept = context._jsc.getPersistentRDDs
    before = set(kept())
    with penstock.Pipeline(SUMS, spark=spark, engine="spark", directory=tmp_path) as pipeline:
        rows = spark.range(200_000).selectExpr("CAST(id % 150000 AS STRING) AS k", "CAST(1 AS INT) AS v")
        pipeline.step({"t": rows})
        mine = set(kept()) - before
        assert mine
        for number in mine:  # as when the executors end that hold them
            context._jsc.sc().env().blockManager().master().removeRdd(number, True)  # noqa: FBT003 - the JVM's
        with pytest.raises(
            DataError, match=r"lost with the executors that held them \(Spark's block rdd_\d+_\d+\)"
        ) as caught:
            pipeline.step({"t": [("1", 5)]})
        assert (caught.value.code, pipeline.steps) == ("ROWS_LOST", 1)
    with penstock.Pipeline(SUMS, spark=spark, engine="spark", directory=tmp_path) as pipeline:
        pipeline.step({"t": [("1", 5)]})
        assert pipeline.query("SELECT s FROM s WHERE k = '1'").rows == [(7,)]


def test_an_error_of_spark_that_names_a_block_is_no_mistake_of_ours():
    message = "[CHECKPOINT_RDD_BLOCK_ID_NOT_FOUND] Checkpoint block rdd_36_0 not found!\nEither the executor …"
    found = of_surroundings(PySparkException(message))
    assert found is not None
    (diagnostic,) = found.diagnostics
    assert (diagnostic.code, "rdd_36_0" in diagnostic.message, "--dir" in diagnostic.hint) == ("ROWS_LOST", True, True)
    assert of_surroundings(PySparkException("[INTERNAL_ERROR] something else")) is None
