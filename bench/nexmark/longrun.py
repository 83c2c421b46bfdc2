"""One long run of a query: what steps cost and what is held, tenth by tenth, and what Spark's batch makes of it."""

from __future__ import annotations

import gc
import os
import statistics
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

import penstock
from bench.manysteps import held_by, resident_mib
from bench.nexmark.answers import Answer, answer_of
from bench.nexmark.files import Data
from bench.nexmark.measure import PeakMemory, memory_of
from bench.nexmark.oracle import batch
from bench.nexmark.queries import VIEW, Query
from bench.nexmark.systems import on_batch
from bench.nexmark.systems.on_penstock import hashed, summed_file
from bench.nexmark.systems.on_penstock_spark import changed
from bench.nexmark.systems.spark import all_frames, collected, step_frames
from bench.nexmark.task import Task
from penstock.testing.oracle import Oracle

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TENTHS = 10
LEAST_STEPS = 4 * TENTHS
LONG = ("q4", "q18", "q20", "q5", "q7", "q8", "q9")
KEYED = ("q4", "q9")  # their auctions go when they have ended, which needs the key of an auction
LIVE: Mapping[str, str] = {
    "q18": "SELECT count(*) FROM (SELECT DISTINCT bidder, auction FROM bid)",
    "q20": "SELECT (SELECT count(*) FROM bid) + (SELECT count(*) FROM auction WHERE category = 10)",
}
_WARMING = 12  # steps: by then what Spark generates is compiled, and the first tenths measure the work alone


@dataclass(frozen=True)
class Grown:
    """A long run: seconds of each step; after each tenth what is held (MiB) and kept (rows), at the end compacted.

    What is held is the JVM's heap, collected, where state is on Spark, and the process's resident memory where it is
    there. `peak_mib` is the most that was held at any time, `needed_mib` what the process has grown by, and
    `limit_mib` the memory that its state was allowed.
    """

    query: str
    events: int
    step: int
    keyed: bool
    seconds: Sequence[float]
    heap_mib: Sequence[int]
    state_rows: Sequence[int]
    compacted: int
    batch_seconds: float
    equal: bool
    live: int | None = None
    memory: str = "8g"  # of the JVM
    engine: str = "spark"
    peak_mib: int | None = None
    needed_mib: int = 0
    limit_mib: int | None = None

    def tenth(self, number: int, events: int | None = None) -> float:
        """Microseconds for an event in one tenth of the run, counted from 1, or of its first `events`: the median."""
        steps = self.seconds[: (events or self.events) // self.step]
        size = len(steps) // TENTHS
        return statistics.median(steps[(number - 1) * size : number * size]) / self.step * 1e6


class _Run(NamedTuple):
    seconds: list[float]
    answer: Answer
    held: list[int]
    state: list[int]
    compacted: int
    peak: int | None
    needed: int


def grown(spark: SparkSession, task: Task, query: Query, engine: str, limit: int | None = None) -> Grown:
    """One query over all events, and Spark's batch over them for scale."""
    work = _Work(spark, task, query, engine, limit)
    work.run(min(_WARMING, task.data.steps))
    collected(spark)
    run = work.run(task.data.steps)
    collected(spark)
    catalog = penstock.Pipeline(query.program()).catalog
    right = answer_of(batch(Oracle(spark, "penstock"), catalog, all_frames(spark, task, query)))
    return Grown(
        query.name,
        task.data.stream.events,
        task.data.step,
        query.name in KEYED,
        run.seconds,
        run.held,
        run.state,
        run.compacted,
        min(on_batch.run(spark, task, query) for _ in range(2)),
        equal=run.answer == right,
        live=_live(task.data, LIVE[query.name]) if query.name in LIVE else None,
        memory=task.memory,
        engine=engine,
        peak_mib=run.peak,
        needed_mib=run.needed,
        limit_mib=limit,
    )


def program(query: Query, limit: int | None) -> str:
    """The query with what its state may hold in memory, in MiB; with a limit the rest of it goes to the disk."""
    said = "" if limit is None else f"SET memory_limit = '{limit}MiB';\n"
    return said + query.program(keyed=query.name in KEYED)


@dataclass(frozen=True)
class _Work:
    """A query on an engine, over events in files."""

    spark: SparkSession
    task: Task
    query: Query
    engine: str
    limit: int | None

    def run(self, steps: int) -> _Run:
        """One pipeline over the first steps."""
        seconds: list[float] = []
        held: list[int] = []
        state: list[int] = []
        total = Answer()
        marks = {steps * tenth // TENTHS for tenth in range(1, TENTHS + 1)} if steps >= TENTHS else set()
        gc.collect()
        memory = PeakMemory([os.getpid()]) if self._in_process else memory_of(self.spark)
        before = resident_mib()
        with self._pipeline() as pipeline, duckdb.connect() as sink:
            for number in range(steps):
                took, answer = (
                    self._from_arrow(pipeline, sink, number) if self._in_process else self._on_spark(pipeline, number)
                )
                seconds.append(took)
                total += answer
                if number + 1 in marks:
                    held.append(round(resident_mib() if self._in_process else held_by(self.spark).heap))
                    state.append(_kept(pipeline))
            needed = round(resident_mib() - before)
            pipeline.compact()
            return _Run(seconds, total, held, state, _kept(pipeline), memory.mib(), needed)

    @property
    def _in_process(self) -> bool:
        return self.engine == "native"

    def _pipeline(self) -> penstock.Pipeline:
        text = program(self.query, self.limit)
        return penstock.Pipeline(text, spark=self.spark, retain="materialized", engine=self.engine)

    def _on_spark(self, pipeline: penstock.Pipeline, number: int) -> tuple[float, Answer]:
        began = time.perf_counter()
        answer = changed(pipeline, step_frames(self.spark, self.task, self.query, number))
        return time.perf_counter() - began, answer

    def _from_arrow(
        self, pipeline: penstock.Pipeline, sink: duckdb.DuckDBPyConnection, number: int
    ) -> tuple[float, Answer]:
        began = time.perf_counter()
        given = {name: pq.read_table(self.task.data.file(name, number)) for name in self.query.tables}
        change = pipeline.step(given)[VIEW].arrow()
        hashed(sink, change)
        took = time.perf_counter() - began
        return took, self._summed(change)

    def _summed(self, change: pa.Table) -> Answer:
        """What a change adds to the answer in the hashes that all systems share, off the clock."""
        path = self.task.scratch / "change.parquet"
        pq.write_table(change, path)
        return summed_file(self.spark, path)


def _kept(pipeline: penstock.Pipeline) -> int:
    return sum(operator.rows for operator in pipeline.state())


def _live(data: Data, sql: str) -> int:
    """The keys that a query has to keep by what it means, counted by DuckDB."""
    with duckdb.connect() as connection:
        for table in ("bid", "auction"):
            connection.read_parquet(data.files(table)).create_view(table)
        ((found,),) = connection.sql(sql).fetchall()
    return int(found)
