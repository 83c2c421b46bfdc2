"""A waterline that moves gives the same code: Spark compiles nothing anew for a step that is like the last one."""

import datetime as dt
from decimal import Decimal

import pyarrow as pa
import pytest

import penstock
from penstock.backends.spark.parameters import as_parameter

TEXT = """CREATE TABLE t (at TIMESTAMP LATENESS INTERVAL 5 SECONDS, n BIGINT LATENESS 5, x INT,
    day DATE LATENESS INTERVAL 1 DAY, d DOUBLE LATENESS 1.5, m DECIMAL(10, 2) LATENESS 2.5)
WITH ('append_only' = 'true', 'history' = 'none');
CREATE VIEW v AS SELECT window_start, x % 50 AS k, count(*) AS c, sum(n) AS s
FROM TABLE(TUMBLE(TABLE t, DESCRIPTOR(at), INTERVAL 10 SECONDS)) GROUP BY window_start, x % 50;
CREATE VIEW w AS SELECT n, day, d, m, count(*) AS c FROM t GROUP BY n, day, d, m;"""


@pytest.mark.parametrize(
    "constant",
    ["TIMESTAMP '2024-01-01 00:00:00 UTC'", "DATE '2024-01-01'", "5L", "2.5D", "CAST(1.5 AS DECIMAL(9, 2))", "NULL"],
)
def test_a_steady_constant_is_the_constant_in_each_row(spark, constant):
    beside = ("id", "cast(id AS DOUBLE)", "cast(id AS DECIMAL(10, 2))", "timestamp_seconds(id)", "nullif(id, id)")
    terms = [f"{as_parameter(constant, item)} <=> {constant}" for item in beside]
    assert spark.range(50).where(f"NOT ({' AND '.join(terms)})").count() == 0


@pytest.mark.extended
def test_a_step_like_the_last_one_compiles_nothing(spark):
    compiled = spark._jvm.org.apache.spark.metrics.source.CodegenMetrics.METRIC_COMPILATION_TIME()
    counts = []
    with penstock.Pipeline(TEXT, spark=spark, retain="materialized") as pipeline:
        pipeline._opened().stepper.engine.workspace.memory_rows = 10
        for step in range(16):
            before = compiled.getCount()
            found = pipeline.step({"t": spark.createDataFrame(rows(step)).repartition(2)})
            assert found["v"].delta.count() > 0
            counts.append(compiled.getCount() - before)
        assert pipeline.rejected() == {}
    assert counts[-6:].count(0) >= 4, counts  # merging more layers than before is new code now and then


def rows(step):
    """Rows of one step, ten seconds, days and units after the step before."""
    begin = dt.datetime(2024, 1, 1, tzinfo=dt.UTC) + dt.timedelta(seconds=10 * step)
    day = dt.date(2024, 1, 1) + dt.timedelta(days=step)
    numbers = range(200)
    return pa.table(
        {
            "at": pa.array([begin + dt.timedelta(milliseconds=40 * row) for row in numbers], pa.timestamp("us", "UTC")),
            "n": pa.array([10 * step + row % 5 for row in numbers], pa.int64()),
            "day": pa.array([day] * len(numbers)),
            "d": pa.array([10.0 * step + row % 2 for row in numbers]),
            "m": pa.array([Decimal(10 * step + row % 2) for row in numbers], pa.decimal128(10, 2)),
            "x": pa.array(numbers, pa.int32()),
        }
    )
