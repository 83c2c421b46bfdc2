"""What the systems on Spark share: a session on two cores, and the events as DataFrames."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from bench.nexmark.answers import Answer
from bench.nexmark.files import SIDE_INPUT
from bench.nexmark.queries import COLUMNS
from bench.nexmark.task import CORES, Task

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from bench.nexmark.queries import Query

WARMING = 8  # steps: what Spark generates for a query is compiled by then, as in a pipeline that runs on
_RUNS = 2

# As a user of plain Spark would have it: nothing of Penstock's, but few partitions for few cores.
PLAIN = {
    "spark.sql.adaptive.enabled": "true",
    "spark.sql.leafNodeDefaultParallelism": str(CORES),
    "spark.sql.shuffle.partitions": str(2 * CORES),
    "spark.sql.constraintPropagation.enabled": "true",
    "spark.sql.unionOutputPartitioning": "true",
}


def session_for(task: Task, conf: Mapping[str, str] | None = None) -> SparkSession:
    """A session with the cores and memory that every system gets."""
    from penstock.backends.spark.session import open_session

    settings = {"spark.driver.memory": task.memory, **(conf or {})}
    return open_session(master=f"local[{CORES}]", conf=settings, app_name=f"nexmark {task.system}")


def plain_session(task: Task, conf: Mapping[str, str] | None = None) -> SparkSession:
    """The same as a user of plain Spark has it: some of that is refused of a session for a pipeline."""
    spark = session_for(task)
    for name, value in {**PLAIN, **(conf or {})}.items():
        spark.conf.set(name, value)
    return spark


def schema_of(table: str) -> str:
    """A table's columns in DDL."""
    return ", ".join(f"`{name}` {kind}" for name, kind in COLUMNS[table].items())


def step_frames(spark: SparkSession, task: Task, query: Query, step: int) -> dict[str, DataFrame]:
    """The events of one step for the tables that a query reads."""
    return {name: _read(spark, name, [str(task.data.file(name, step))]) for name in query.tables}


def all_frames(spark: SparkSession, task: Task, query: Query, steps: int | None = None) -> dict[str, DataFrame]:
    """All events of the first steps, and the side input where the query reads it."""
    found = {name: _read(spark, name, task.data.files(name, steps)) for name in query.tables}
    return found | side_input(spark, task, query)


def side_input(spark: SparkSession, task: Task, query: Query) -> dict[str, DataFrame]:
    """The side input, for the query that reads it."""
    if not query.side_input:
        return {}
    return {SIDE_INPUT: _read(spark, SIDE_INPUT, [str(task.data.side_input())])}


def _read(spark: SparkSession, table: str, paths: list[str]) -> DataFrame:
    return spark.read.schema(schema_of(table)).parquet(*paths)


class Run(NamedTuple):
    """The time of each step, the answer after each, and the rows of state at the end."""

    seconds: Sequence[float]
    answers: Sequence[Answer]
    state: int


def quicker(runs: Sequence[Run]) -> Run:
    """The run that took less time; all have to answer alike, or the time of one would stand beside another's answer."""
    if any(one.answers != runs[0].answers for one in runs):
        message = "runs over the same steps answered differently"
        raise AssertionError(message)
    return min(runs, key=lambda one: sum(one.seconds))


def repeated(spark: SparkSession, run: Callable[[], Run]) -> Run:
    """The quicker of two runs, as of the other systems."""
    runs = []
    for _ in range(_RUNS):
        runs.append(run())
        collected(spark)
    return quicker(runs)


def collected(spark: SparkSession) -> None:
    """Let Python and the JVM give back what the last query held."""
    gc.collect()
    for _ in range(2):
        spark._jvm.java.lang.System.gc()  # noqa: SLF001
        time.sleep(0.5)
