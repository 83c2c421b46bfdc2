"""How NEXMark grows: runs so long that only state that goes again lets them last, and steps of every size.

A long run keeps the time of each step, and after each tenth of the events what is held and how many rows of state there
are. A run of 5 M events is the beginning of one of 20 M: the stream is the same. Steps of each size are interleaved
with `bare`, the grouped query of Spark over ten rows that is the unit of cost.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import islice
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, Any

import penstock
from bench.nexmark.files import Data, default_folder, written
from bench.nexmark.generate import Stream
from bench.nexmark.longrun import Grown, grown
from bench.nexmark.queries import VIEW, Query
from bench.nexmark.systems.spark import collected, session_for
from bench.nexmark.task import Task
from bench.programs import agreeing, bare
from penstock.catalog.settings import SETTINGS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SIZES = (10, 100, 1_000, 10_000, 100_000, 1_000_000)
STEPPED = ("q1", "q5", "q17", "q18", "q20")
MEMORY_LIMIT = "memory_limit"  # the setting by which state in the process goes to the disk
_LARGE = 100_000
_LEAST_MIB = 64  # a step of 250,000 events needs more than that at once, however little state there is
_COMPARED = 1000


@dataclass(frozen=True)
class Stepped:
    """Medians of a step of one size and of `bare` beside it, in milliseconds, and the largest step."""

    query: str
    size: int
    steps: int
    p50_ms: float
    most_ms: float
    bare_ms: float
    engine: str = "spark"


def stepped(spark: SparkSession, query: Query, size: int, engine: str, *, warm: int, steps: int) -> Stepped:
    """Steps of one size, handed over as Arrow tables and read as Arrow, each beside `bare`."""
    unit = bare(spark)
    times: list[float] = []
    units: list[float] = []
    stream = Stream(size * (warm + steps))
    with penstock.Pipeline(query.program(), spark=spark, retain="materialized", engine=engine) as pipeline:
        for number, events in enumerate(islice(stream.steps(size), warm + steps)):
            given = {name: events[name] for name in query.tables}
            took, beside = _timed(lambda given=given: pipeline.step(given)[VIEW].arrow()), _timed(unit)
            if number >= warm:
                times.append(took)
                units.append(beside)
    return Stepped(query.name, size, steps, statistics.median(times), max(times), statistics.median(units), engine)


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
    engines: Sequence[str] = ("native",)


def measured(wanted: Wanted) -> Iterator[Grown | Stepped]:
    """All that is asked for, one after the other."""
    with tempfile.TemporaryDirectory(prefix="nexmark-") as scratch:
        stream = Stream(wanted.events)
        # Steps of each size are made in memory: only long runs read files.
        data = (
            written(default_folder(), stream, wanted.step)
            if wanted.long
            else Data(default_folder(), stream, wanted.step)
        )
        task = Task("penstock", data, [*wanted.long, *wanted.short], Path(scratch), memory=wanted.memory)
        for query in wanted.long:
            for engine in wanted.engines:
                yield from long_runs(task, query, engine)
        if wanted.short:
            yield from _short_steps(wanted, task)


def long_runs(task: Task, query: Query, engine: str) -> Iterator[Grown]:
    """A query over all events; then, where much state is in the process, with half of the memory that it has needed."""
    found = _apart(task, query, engine, None)
    yield found
    half = found.needed_mib // 2
    if engine == "native" and half >= _LEAST_MIB and any(setting.name == MEMORY_LIMIT for setting in SETTINGS):
        yield _apart(task, query, engine, half)


def _apart(task: Task, query: Query, engine: str, limit: int | None) -> Grown:
    """A long run in a process of its own, which holds nothing of the one before."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as process:
        return process.submit(_with_session, task, query, engine, limit).result()


def _with_session(task: Task, query: Query, engine: str, limit: int | None) -> Grown:
    spark = session_for(task)
    found = grown(spark, task, query, engine, limit)
    spark.stop()
    return found


def _short_steps(wanted: Wanted, task: Task) -> Iterator[Stepped]:
    spark = session_for(task)
    for query in wanted.short:
        _compared(spark, query)
        for engine in wanted.engines:
            for size in wanted.sizes:
                warm, steps = effort(size)
                yield stepped(spark, query, size, engine, warm=warm, steps=steps)
                collected(spark)
    spark.stop()


def _compared(spark: SparkSession, query: Query) -> None:
    """See that both engines answer alike, before anything is timed."""
    events = Stream(3 * _COMPARED, rate=100).steps(_COMPARED)
    agreeing(spark, query.program(), [{name: step[name] for name in query.tables} for step in events], VIEW)
