"""DuckDB over all events at once, for scale. It hashes as it likes, so its answer is written again for Spark to sum."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

import duckdb

from bench.nexmark.answers import Answer, answer_of
from bench.nexmark.files import SIDE_INPUT
from bench.nexmark.measure import Measured, PeakMemory
from bench.nexmark.queries import COLUMNS, Query
from bench.nexmark.systems.spark import session_for
from bench.nexmark.task import CORES, Task

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_RUNS = 3


def measured(task: Task) -> Iterator[Measured]:
    """The quickest of a few runs, after one to warm up."""
    spark = session_for(task)
    for query in task.queries:
        answer = answered(spark, task, query)
        with _database(task, query) as database:
            text = query.text("duckdb")
            _timed(database, text)
            memory = PeakMemory([os.getpid()])
            seconds = min(_timed(database, text) for _ in range(_RUNS))
            peak = memory.mib()
        yield Measured(query.name, task.system, task.data.stream.events, seconds, [seconds], peak, answers=[answer])
    spark.stop()


def answered(spark: SparkSession, task: Task, query: Query) -> Answer:
    """The answer over the determined columns, summed by Spark."""
    path = task.scratch / f"duckdb-{query.name}.parquet"
    with _database(task, query) as database:
        database.execute(f"COPY ({query.text('duckdb')}) TO '{path}' (FORMAT parquet)")
    answer = answer_of(spark.read.parquet(str(path)), query.determined)
    path.unlink()
    return answer


def _database(task: Task, query: Query) -> duckdb.DuckDBPyConnection:
    database = duckdb.connect(config={"threads": CORES, "memory_limit": task.memory.upper() + "B"})
    _declare(database, task, query)
    return database


def _timed(database: duckdb.DuckDBPyConnection, text: str) -> float:
    began = time.perf_counter()
    database.execute(f"SELECT count(*), sum(hash(answer) & 4294967295) FROM ({text}) AS answer").fetchall()
    return time.perf_counter() - began


def _declare(database: duckdb.DuckDBPyConnection, task: Task, query: Query) -> None:
    for name in query.tables:
        _view(database, name, task.data.files(name))
    if query.side_input:
        _view(database, SIDE_INPUT, [str(task.data.side_input())])


def _view(database: duckdb.DuckDBPyConnection, name: str, files: list[str]) -> None:
    """A table's files; times as plain timestamps in UTC."""
    columns = ", ".join(
        f"make_timestamp(epoch_us({column})) AS {column}" if kind == "TIMESTAMP" else column
        for column, kind in COLUMNS[name].items()
    )
    listed = ", ".join(f"'{path}'" for path in files)
    database.execute(f"CREATE VIEW {name} AS SELECT {columns} FROM read_parquet([{listed}])")
