"""Evaluated rows are given back when nobody can read them any more, and no sooner."""

import gc
import time

import pytest

from penstock import Pipeline
from penstock.backends.spark import given
from penstock.steps.intake import bulk

PROGRAM = """
    CREATE TABLE t (k INT, v INT) WITH ('append_only' = 'true', 'history' = 'none');
    CREATE TABLE u (k INT, w INT) WITH ('append_only' = 'true', 'history' = 'none');
    CREATE VIEW doubled AS SELECT k, v * 2 AS d FROM t WHERE v > 0;
    CREATE VIEW renamed AS SELECT v, k FROM t;
    CREATE VIEW totals AS SELECT k, sum(v) AS s, min(v) AS m FROM t GROUP BY k;
    CREATE VIEW joined AS SELECT t.v, u.w FROM t JOIN u USING (k);
"""
ROWS = 600  # more than what comes to the driver here
DRIVER_ROWS, MEMORY_ROWS = 500, 200


def rows(spark, start):
    return spark.range(start, start + ROWS).selectExpr("cast(id as int) k", "cast(id % 7 + 1 as int) v")


def kept(spark):
    """The evaluated relations that Spark holds; asked for in a way that does not hold them itself."""
    return {info.id() for info in spark.sparkContext._jsc.sc().getRDDStorageInfo()}


@pytest.fixture(autouse=True)
def few_are_many(monkeypatch):
    monkeypatch.setattr(bulk, "DRIVER_ROWS", DRIVER_ROWS)
    monkeypatch.setattr(given, "DRIVER_ROWS", DRIVER_ROWS)


def opened(spark, program=PROGRAM, retain="materialized"):
    """A pipeline that takes few rows for many."""
    found = Pipeline(program, spark=spark, retain=retain)
    workspace = found._opened().stepper.engine.workspace
    workspace.driver_rows, workspace.memory_rows = DRIVER_ROWS, MEMORY_ROWS
    return found


@pytest.fixture(autouse=True)
def compiles_nothing(interpreting):
    """Queries run a few times each."""


ONE = """
    CREATE TABLE t (k INT, v INT) WITH ('append_only' = 'true', 'history' = 'none');
    CREATE VIEW doubled AS SELECT k, v * 2 AS d FROM t WHERE v > 0;
    CREATE VIEW renamed AS SELECT v, k FROM t;
    CREATE VIEW totals AS SELECT k, sum(v) AS s, min(v) AS m FROM t GROUP BY k;
"""


@pytest.fixture
def pipeline(spark):
    with opened(spark) as found:
        yield found


@pytest.fixture
def over_one_table(spark):
    with opened(spark, ONE) as found:
        yield found


def test_after_a_step_only_state_is_left(spark, pipeline):
    before, found = kept(spark), []
    for step in range(6):
        other = rows(spark, step * ROWS).withColumnRenamed("v", "w")
        pipeline.step({"t": rows(spark, step * ROWS), "u": other})
        pipeline.step({})
        layers = sum(len(trace.layers) for trace in _traces(pipeline))
        assert layers
        found.append(len(kept(spark) - before) - layers)
    assert found[-3:] == [0, 0, 0], found


def _traces(pipeline):
    for installed in pipeline._execution.stepper.engine.installed:
        for runner in installed.runners.values():
            yield from runner.traces


def test_changes_can_be_read_as_long_as_they_are_held(spark, over_one_table):
    held = [over_one_table.step({"t": rows(spark, step * ROWS)}) for step in range(5)]
    for changes in held:
        assert changes["doubled"].arrow().num_rows == ROWS
        assert changes["renamed"].arrow().num_rows == ROWS
        assert changes["totals"].arrow().num_rows == ROWS


def test_a_dataframe_of_the_user_outlives_its_change(spark, over_one_table):
    frames = [over_one_table.step({"t": rows(spark, step * ROWS)})["doubled"].df().where("d > 2") for step in range(3)]
    for _ in range(3):
        over_one_table.step({"t": rows(spark, 0)})
    assert [frame.count() for frame in frames] == [
        sum(1 for i in range(s * ROWS, (s + 1) * ROWS) if i % 7) for s in range(3)
    ]


def test_a_query_of_the_user_outlives_the_contents_that_it_read(spark):
    view = "CREATE MATERIALIZED VIEW m AS SELECT k % 700 AS k, sum(v) AS s FROM t GROUP BY 1"
    with opened(spark, f"CREATE TABLE t (k INT, v INT); {view}", retain="all") as pipeline:
        pipeline.step({"t": rows(spark, 0)})
        asked = pipeline.query("SELECT count(*) FROM m").df(), pipeline.content("m").df()
        for step in range(9):
            pipeline.step({"t": rows(spark, step * ROWS)})
        gc.collect()
        assert asked[0].collect()[0][0] == ROWS
        assert asked[1].count() == ROWS


def names(spark):
    """The temporary views of the session."""
    return {row.tableName for row in spark.sql("SHOW TABLES").collect() if row.isTemporary}


def worked(spark):
    """A pipeline with state on the driver and on the executors, and the changes of its last step."""
    found = opened(spark)
    changes = {}
    for step in range(4):
        other = rows(spark, step * ROWS).withColumnRenamed("v", "w")
        found.step({"t": rows(spark, step * ROWS), "u": other})
        changes = found.step({"t": [(step, 1)], "u": [(step, 1)]})
    return found, changes


def test_a_closed_pipeline_leaves_nothing_in_the_session(spark):
    before, rows_before = names(spark), kept(spark)
    found, changes = worked(spark)
    assert names(spark) - before
    found.close()
    assert names(spark) - before == set()
    assert changes["joined"].arrow().num_rows > 0
    del found, changes
    for _ in range(20):  # Spark's cleaner works on a thread of its own
        gc.collect()
        spark._jvm.java.lang.System.gc()
        if not kept(spark) - rows_before:
            break
        time.sleep(0.5)
    assert kept(spark) - rows_before == set()


def test_what_a_forgotten_pipeline_has_left_goes_with_the_next_step_of_another(spark, pipeline):
    pipeline.step({})
    before = names(spark)
    worked(spark)
    gc.collect()
    pipeline.step({"t": [(1, 1)]})
    assert names(spark) - before == set()
