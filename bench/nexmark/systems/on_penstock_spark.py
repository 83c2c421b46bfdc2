"""Penstock on Spark: one step after the other, the change of the view read by a sink that counts and adds hashes up."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

import penstock
from bench.nexmark.answers import Answer, answer_of
from bench.nexmark.measure import Measured, memory_of
from bench.nexmark.queries import VIEW, Query
from bench.nexmark.systems.spark import WARMING, Run, collected, repeated, session_for, side_input, step_frames
from bench.nexmark.task import Task
from penstock.catalog.reserved import WEIGHT

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def measured(task: Task) -> Iterator[Measured]:
    """Each query over all steps, after the first ones in a pipeline of its own to warm up."""
    spark = session_for(task)
    for query in task.queries:
        run(spark, task, query, min(WARMING, task.data.steps))
        collected(spark)
        memory = memory_of(spark)
        seconds, answers, state = repeated(spark, lambda query=query: run(spark, task, query, task.data.steps))
        yield Measured(
            query.name,
            task.system,
            task.data.stream.events,
            seconds=sum(seconds),
            steps=seconds,
            peak_mib=memory.mib(),
            state_rows=state,
            answers=answers,
        )
    spark.stop()


def run(spark: SparkSession, task: Task, query: Query, steps: int) -> Run:
    """One pipeline over the first steps."""
    seconds: list[float] = []
    answers: list[Answer] = []
    with penstock.Pipeline(query.program(), spark=spark, retain="materialized", engine="spark") as pipeline:
        total = changed(pipeline, side_input(spark, task, query)) if query.side_input else Answer()
        for step in range(steps):
            began = time.perf_counter()
            total += changed(pipeline, step_frames(spark, task, query, step))
            seconds.append(time.perf_counter() - began)
            answers.append(total)
        state = sum(operator.rows for operator in pipeline.state())
    return Run(seconds, answers, state)


def changed(pipeline: penstock.Pipeline, rows: dict[str, object]) -> Answer:
    """What one step adds to the answer."""
    delta = pipeline.step(rows)[VIEW].delta
    return Answer() if delta is None or delta.is_empty() else answer_of(delta.frame(), weight=WEIGHT)
