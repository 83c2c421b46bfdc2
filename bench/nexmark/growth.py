"""How NEXMark grows: runs so long that only state that goes again lets them last, and steps of every size.

A long run keeps the time of each step, and after each tenth of the events what the heap holds once it is collected and
how many rows of state there are. A run of 5 M events is the beginning of one of 20 M: the stream is the same.
Steps of each size are interleaved with `bare`, the grouped query of Spark over ten rows that is the unit of cost.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import duckdb

import penstock
from bench.manysteps import held_by
from bench.nexmark.answers import Answer, answer_of
from bench.nexmark.files import Data, default_folder, written
from bench.nexmark.generate import Stream
from bench.nexmark.oracle import batch
from bench.nexmark.queries import VIEW, Query
from bench.nexmark.systems import on_batch
from bench.nexmark.systems.on_penstock import changed
from bench.nexmark.systems.spark import all_frames, collected, session_for, step_frames
from bench.nexmark.task import Task
from bench.programs import bare
from penstock.testing.oracle import Oracle

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TENTHS = 10
LEAST_STEPS = 4 * TENTHS
LONG = ("q5", "q7", "q8", "q4", "q9", "q18", "q20")
KEYED = ("q4", "q9")  # their auctions go when they have ended, which needs the key of an auction
LIVE: Mapping[str, str] = {
    "q18": "SELECT count(*) FROM (SELECT DISTINCT bidder, auction FROM bid)",
    "q20": "SELECT (SELECT count(*) FROM bid) + (SELECT count(*) FROM auction WHERE category = 10)",
}
SIZES = (100, 1_000, 10_000, 100_000, 1_000_000)
STEPPED = ("q1", "q5", "q17", "q18", "q20")
_LARGE = 100_000
_WARMING = 12  # steps: by then what Spark generates is compiled, and the first tenths measure the work alone


@dataclass(frozen=True)
class Grown:
    """A long run: seconds of each step; after each tenth what is held (MiB) and kept (rows), at the end compacted."""

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

    def tenth(self, number: int, events: int | None = None) -> float:
        """Microseconds for an event in one tenth of the run, counted from 1, or of its first `events`."""
        steps = self.seconds[: (events or self.events) // self.step]
        size = len(steps) // TENTHS
        return sum(steps[(number - 1) * size : number * size]) / (size * self.step) * 1e6


@dataclass(frozen=True)
class Stepped:
    """Medians of a step of one size and of `bare` beside it, in milliseconds, and the largest step."""

    query: str
    size: int
    steps: int
    p50_ms: float
    most_ms: float
    bare_ms: float


def grown(spark: SparkSession, task: Task, query: Query) -> Grown:
    """One query over all events, and Spark's batch over them for scale."""
    _run(spark, task, query, min(_WARMING, task.data.steps))
    collected(spark)
    run = _run(spark, task, query, task.data.steps)
    collected(spark)
    catalog = penstock.Pipeline(query.program()).catalog
    right = answer_of(batch(Oracle(spark, "penstock"), catalog, all_frames(spark, task, query)))
    batches = min(on_batch.run(spark, task, query) for _ in range(2))
    events, step = task.data.stream.events, task.data.step
    live = _live(task.data, LIVE[query.name]) if query.name in LIVE else None
    keyed, equal = query.name in KEYED, run.answer == right
    held_and_kept = run.heap, run.state, run.compacted
    return Grown(query.name, events, step, keyed, run.seconds, *held_and_kept, batches, equal, live, task.memory)


class _Run(NamedTuple):
    seconds: list[float]
    answer: Answer
    heap: list[int]
    state: list[int]
    compacted: int


def _run(spark: SparkSession, task: Task, query: Query, steps: int) -> _Run:
    seconds: list[float] = []
    heap: list[int] = []
    state: list[int] = []
    total = Answer()
    marks = {steps * tenth // TENTHS for tenth in range(1, TENTHS + 1)}
    with penstock.Pipeline(query.program(keyed=query.name in KEYED), spark=spark, retain="materialized") as pipeline:
        for step in range(steps):
            began = time.perf_counter()
            total += changed(pipeline, step_frames(spark, task, query, step))
            seconds.append(time.perf_counter() - began)
            if step + 1 in marks and steps >= TENTHS:
                heap.append(round(held_by(spark).heap))
                state.append(_kept(pipeline))
        pipeline.compact()
        return _Run(seconds, total, heap, state, _kept(pipeline))


def _kept(pipeline: penstock.Pipeline) -> int:
    return sum(operator.rows for operator in pipeline.state())


def _live(data: Data, sql: str) -> int:
    """The keys that a query has to keep by what it means, counted by DuckDB."""
    with duckdb.connect() as connection:
        for table in ("bid", "auction"):
            connection.read_parquet(data.files(table)).create_view(table)
        ((found,),) = connection.sql(sql).fetchall()
    return int(found)


def stepped(spark: SparkSession, query: Query, size: int, *, warm: int, steps: int) -> Stepped:
    """Steps of one size, handed over as Arrow tables and read as Arrow, each beside `bare`."""
    unit = bare(spark)
    times: list[float] = []
    units: list[float] = []
    stream = Stream(size * (warm + steps))
    with penstock.Pipeline(query.program(), spark=spark, retain="materialized") as pipeline:
        for number, events in enumerate(islice(stream.steps(size), warm + steps)):
            given = {name: events[name] for name in query.tables}
            took, beside = _timed(lambda given=given: pipeline.step(given)[VIEW].arrow()), _timed(unit)
            if number >= warm:
                times.append(took)
                units.append(beside)
    return Stepped(query.name, size, steps, statistics.median(times), max(times), statistics.median(units))


def _timed(work: Any) -> float:
    began = time.perf_counter()
    work()
    return (time.perf_counter() - began) * 1000


def effort(size: int) -> tuple[int, int]:
    """How many steps of a size warm up, and how many are measured."""
    return (3, 6) if size > _LARGE else (6, 12) if size == _LARGE else (20, 30)


@dataclass(frozen=True)
class Wanted:
    """What is asked for."""

    events: int
    step: int
    long: Sequence[Query]
    short: Sequence[Query]
    sizes: Sequence[int]
    memory: str


def measured(wanted: Wanted) -> Iterator[Grown | Stepped]:
    """All that is asked for, one after the other in one session."""
    with tempfile.TemporaryDirectory(prefix="nexmark-") as scratch:
        stream = Stream(wanted.events)
        # Steps of each size are made in memory: only long runs read files.
        data = (
            written(default_folder(), stream, wanted.step)
            if wanted.long
            else Data(default_folder(), stream, wanted.step)
        )
        task = Task("penstock", data, [*wanted.long, *wanted.short], Path(scratch), memory=wanted.memory)
        spark = session_for(task)
        for query in wanted.long:
            yield grown(spark, task, query)
        for query in wanted.short:
            for size in wanted.sizes:
                warm, steps = effort(size)
                yield stepped(spark, query, size, warm=warm, steps=steps)
                collected(spark)
        spark.stop()
