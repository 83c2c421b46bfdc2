"""Spark batch over all events at once, which is the limit; and the oracle, which says what is right."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import penstock
from bench.nexmark.answers import Answer, answer_of
from bench.nexmark.measure import Measured, memory_of
from bench.nexmark.oracle import batch
from bench.nexmark.queries import Query
from bench.nexmark.systems.spark import all_frames, collected, plain_session
from bench.nexmark.task import Task
from penstock.testing.oracle import Oracle

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_RUNS = 3


def measured(task: Task) -> Iterator[Measured]:
    """The quickest of a few runs, after one to warm up."""
    spark = plain_session(task)
    for query in task.queries:
        run(spark, task, query)
        collected(spark)
        memory = memory_of(spark)
        seconds = min(run(spark, task, query) for _ in range(_RUNS))
        found = Measured(query.name, task.system, task.data.stream.events, seconds, [seconds], memory.mib())
        yield replace(found, answers=[answered(spark, task, query)])
    spark.stop()


def oracle(task: Task) -> Iterator[Measured]:
    """What is right: over all columns as Penstock orders ties, and last over the determined columns alone."""
    spark = plain_session(task)
    judge = Oracle(spark, "penstock")
    for query in task.queries:
        catalog = penstock.Pipeline(query.program()).catalog
        steps = range(1, task.data.steps + 1) if task.every else [task.data.steps]
        answers = []
        frame: DataFrame | None = None
        for step in steps:
            frame = batch(judge, catalog, all_frames(spark, task, query, step))
            answers.append(answer_of(frame))
        assert frame is not None  # noqa: S101 - there is at least one step
        determined = answers[-1] if query.determined is None else answer_of(frame, query.determined)
        yield Measured(query.name, "oracle", task.data.stream.events, answers=[*answers, determined])
    spark.stop()


def run(spark: SparkSession, task: Task, query: Query) -> float:
    """The time of one run over all events that reads all columns of the answer."""
    began = time.perf_counter()
    answer_of(_asked(spark, task, query))
    return time.perf_counter() - began


def answered(spark: SparkSession, task: Task, query: Query) -> Answer:
    """The answer over the determined columns."""
    return answer_of(_asked(spark, task, query), query.determined)


def _asked(spark: SparkSession, task: Task, query: Query) -> DataFrame:
    for name, frame in all_frames(spark, task, query).items():
        frame.createOrReplaceTempView(name)
    return spark.sql(query.text("batch"))
