"""What the benchmark runs on each system comes to the same answer: the sums of maintained changes, batch, DuckDB."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from bench.nexmark.answers import answer_of
from bench.nexmark.files import Data, written
from bench.nexmark.generate import Stream
from bench.nexmark.oracle import batch
from bench.nexmark.queries import QUERIES, Query
from bench.nexmark.systems import on_batch, on_duckdb, on_penstock, on_penstock_spark
from bench.nexmark.systems.spark import all_frames
from bench.nexmark.task import Task

import penstock
from penstock.testing.oracle import Oracle

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.extended


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Data:
    return written(tmp_path_factory.mktemp("events"), Stream(3000, rate=50, disorder=4), 1500)


@pytest.mark.parametrize("name", QUERIES)
def test_batch_and_duckdb_answer_as_the_oracle(spark: SparkSession, data: Data, tmp_path: Path, name: str) -> None:
    query = Query(name)
    task = Task("batch", data, [query], tmp_path)
    oracle = Oracle(spark, "penstock")
    frames = all_frames(spark, task, query)
    right = answer_of(batch(oracle, penstock.Pipeline(query.program()).catalog, frames), query.determined)
    oracle.close(frames)
    assert right.rows > 0
    assert on_batch.answered(spark, task, query) == right
    assert on_duckdb.answered(spark, task, query) == right
    for table in frames:
        spark.catalog.dropTempView(table)


@pytest.mark.parametrize("system", ["penstock", "penstock-spark"])
@pytest.mark.parametrize("name", ["q4", "q13", "q18"])
def test_the_measured_run_sums_what_batch_sums(
    spark: SparkSession, data: Data, tmp_path: Path, name: str, system: str
) -> None:
    query = Query(name)
    task = Task(system, data, [query], tmp_path)
    seconds, answers, state = (
        on_penstock_spark.run(spark, task, query, data.steps)
        if system == "penstock-spark"
        else on_penstock.summed(spark, task, query, on_penstock.run(task, query, data.steps))
    )
    oracle = Oracle(spark, "penstock")
    for step, answer in enumerate(answers, start=1):
        frames = all_frames(spark, task, query, step)
        assert answer == answer_of(batch(oracle, penstock.Pipeline(query.program()).catalog, frames))
    oracle.close(frames)
    assert len(seconds) == data.steps
    assert state > 0
