"""Penstock in the process: a step's files read as Arrow, the change of the view read as Arrow and hashed.

DuckDB hashes it within the step's time, as the sinks of other systems hash what they get. It hashes as it likes, so
changes are written to files as well, off the clock, for Spark to sum.
"""

from __future__ import annotations

import gc
import os
import time
from collections.abc import Iterator
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

import penstock
from bench.nexmark.answers import Answer, answer_of
from bench.nexmark.files import SIDE_INPUT
from bench.nexmark.measure import Measured, PeakMemory
from bench.nexmark.queries import VIEW, Query
from bench.nexmark.systems.spark import WARMING, Run, quicker, session_for
from bench.nexmark.task import CORES, Task
from penstock.catalog.reserved import WEIGHT

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_RUNS = 2
_HASHED = f"SELECT sum({WEIGHT}), sum({WEIGHT} * (hash(changed) & 4294967295)) FROM changed"


def measured(task: Task) -> Iterator[Measured]:
    """Each query over all steps, after the first ones in a pipeline of its own to warm up."""
    for query in task.queries:
        run(task, query, min(WARMING, task.data.steps))
        gc.collect()
        memory = PeakMemory([os.getpid()])
        found = quicker([run(task, query, task.data.steps) for _ in range(_RUNS)])
        peak = memory.mib()
        seconds, answers, state = summed(session_for(task), task, query, found)
        yield Measured(
            query.name,
            task.system,
            task.data.stream.events,
            seconds=sum(seconds),
            steps=seconds,
            peak_mib=peak,
            state_rows=state,
            answers=answers,
        )


def run(task: Task, query: Query, steps: int) -> Run:
    """One pipeline over the first steps; its answers are in DuckDB's hashes."""
    seconds: list[float] = []
    answers: list[Answer] = []
    conf = {"spark.driver.memory": task.memory}  # of the session that it opens if it needs one
    with (
        penstock.Pipeline(
            query.program(), engine="native", master=f"local[{CORES}]", conf=conf, retain="materialized"
        ) as pipeline,
        duckdb.connect() as sink,
    ):
        pipeline.step({})  # nothing of what a first step does once is in the times, as of jobs over no events
        if query.side_input:  # no bid has come that could find anything there
            pipeline.step({SIDE_INPUT: pq.read_table(task.data.side_input())})
        total = Answer()
        for step in range(steps):
            began = time.perf_counter()
            given = {name: pq.read_table(task.data.file(name, step), columns=query.read(name)) for name in query.tables}
            change = pipeline.step(given)[VIEW].arrow(consolidated=False)
            total += hashed(sink, change)
            seconds.append(time.perf_counter() - began)
            answers.append(total)
            pq.write_table(change, _file(task, query, step))
        state = sum(operator.rows for operator in pipeline.state())
    return Run(seconds, answers, state)


def hashed(sink: duckdb.DuckDBPyConnection, change: pa.Table) -> Answer:
    """What a change adds to the answer, in DuckDB's hashes; every value of it is read."""
    if not change.num_rows:
        return Answer()
    sink.register("changed", change)
    rows, checksum = sink.execute(_HASHED).fetchall()[0]
    return Answer(int(rows), int(checksum))


def summed(spark: SparkSession, task: Task, query: Query, found: Run) -> Run:
    """The same run with its answers in the hashes that all systems share."""
    files = [_file(task, query, step) for step in range(len(found.seconds))]
    return found._replace(answers=list(accumulate(summed_file(spark, path) for path in files)))


def summed_file(spark: SparkSession, path: Path) -> Answer:
    """What a change in a file adds to the answer, by Spark."""
    if not pq.read_schema(path).names:  # the view has not changed
        return Answer()
    return answer_of(spark.read.parquet(str(path)), weight=WEIGHT)


def _file(task: Task, query: Query, step: int) -> Path:
    """Where the change of a step is written."""
    return task.scratch / f"{query.name}-{step}.parquet"
