"""Structured Streaming by hand, where Spark can express the query: one micro-batch for the files of each step.

Results that Spark emits once are summed as they come. Where it only offers to send a group's new result (update mode),
the sink keeps a hash for each key, and the last of them counts. Windows are emitted when the watermark has passed, so
queries with windows get one more file, with events of an hour later, whose own windows never end.
"""

from __future__ import annotations

import datetime as dt
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from bench.nexmark.answers import Answer, answer_of, row_hash
from bench.nexmark.measure import Measured, memory_of
from bench.nexmark.queries import Query
from bench.nexmark.systems.spark import WARMING, Run, collected, plain_session, repeated, schema_of, side_input
from bench.nexmark.task import Task

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_LATENESS = "4 seconds"
_LONGEST = 300  # seconds; who takes longer over some millions of events is not compared
_WINDOWED = ("q5", "q7", "q8", "q11", "q12")
_KEYS: Mapping[str, Sequence[str]] = {
    "q4": ("category",),
    "q15": ("day",),
    "q16": ("channel", "day"),
    "q17": ("auction", "day"),
    "q18": ("bidder", "auction"),
}
_SETTINGS = {
    "spark.sql.adaptive.enabled": "false",  # streaming has none
    "spark.sql.streaming.numRecentProgressUpdates": "100000",
    "spark.sql.streaming.statefulOperator.checkCorrectness.enabled": "true",
}


@dataclass
class _Sink:
    """Sums what each micro-batch sends."""

    query: Query
    latest: Path
    answer: Answer = field(default_factory=Answer)

    def take(self, frame: DataFrame, number: int) -> None:
        """One micro-batch."""
        keys = _KEYS.get(self.query.name)
        if keys is None:
            self.answer += answer_of(frame, self.query.determined)
            return
        hashed = row_hash(frame.schema, self.query.determined or frame.columns)
        whole = row_hash(frame.schema, frame.columns)
        kept = frame.selectExpr(*keys, f"{hashed} AS hash", f"{whole} AS whole", f"{number}L AS number")
        kept.write.mode("append").parquet(str(self.latest))

    def total(self, spark: SparkSession) -> Answer:
        """The answer at the end."""
        keys = _KEYS.get(self.query.name)
        if keys is None:
            return self.answer
        spark.read.parquet(str(self.latest)).createOrReplaceTempView("latest")
        last = f"SELECT max_by(hash, number) AS hash FROM latest GROUP BY {', '.join(keys)}"
        found = spark.sql(f"SELECT count(*), coalesce(sum(hash), 0) FROM ({last})").first()
        assert found is not None  # noqa: S101 - an aggregate without groups has one row
        return Answer(int(found[0]), int(found[1]))


def measured(task: Task) -> Iterator[Measured]:
    """Each query over all files, after one run over the first ones to warm up."""
    spark = plain_session(task, _SETTINGS)
    for query in task.queries:
        folders = {table: folder_of(task, query, table) for table in query.tables}
        run(spark, task, query, {table: _first(task, path, WARMING) for table, path in folders.items()})
        collected(spark)
        memory = memory_of(spark)
        seconds, answers, state = repeated(spark, lambda query=query, folders=folders: run(spark, task, query, folders))
        yield Measured(
            query.name,
            task.system,
            task.data.stream.events,
            seconds=sum(seconds),
            steps=seconds,
            peak_mib=memory.mib(),
            state_rows=state,
            answers=answers,
            note="update mode: the sink keeps the last result of each key" if query.name in _KEYS else None,
        )
    spark.stop()


def run(spark: SparkSession, task: Task, query: Query, folders: Mapping[str, Path]) -> Run:
    """One query from its first micro-batch to its last; the answer is the one at the end."""
    for table, folder in folders.items():
        stream = spark.readStream.schema(schema_of(table)).option("maxFilesPerTrigger", 1).parquet(str(folder))
        stream.withWatermark("date_time", _LATENESS).createOrReplaceTempView(table)
    for name, frame in side_input(spark, task, query).items():
        frame.createOrReplaceTempView(name)
    sink = _Sink(query, task.scratch / "latest")
    shutil.rmtree(sink.latest, ignore_errors=True)
    checkpoint = task.scratch / "checkpoint"
    shutil.rmtree(checkpoint, ignore_errors=True)
    writer = spark.sql(query.text("streaming")).writeStream.foreachBatch(sink.take)
    mode = "update" if query.name in _KEYS else "append"
    started = writer.outputMode(mode).option("checkpointLocation", str(checkpoint)).trigger(availableNow=True).start()
    if not started.awaitTermination(_LONGEST):
        started.stop()
        message = f"not at its end after {_LONGEST} s"
        raise TimeoutError(message)
    progress = started.recentProgress
    seconds = [one["durationMs"]["triggerExecution"] / 1000 for one in progress]
    states = progress[-1]["stateOperators"] if progress else []
    return Run(seconds, [sink.total(spark)], sum(one["numRowsTotal"] for one in states))


def folder_of(task: Task, query: Query, table: str) -> Path:
    """A folder with the files of a table, and with one more for a query with windows."""
    if query.name not in _WINDOWED:
        return task.data.table(table)
    folder = task.scratch / f"{query.name}-{table}"
    folder.mkdir(exist_ok=True)
    for path in map(Path, task.data.files(table)):
        if not (folder / path.name).exists():
            (folder / path.name).symlink_to(path.resolve())
    last = pq.read_table(task.data.file(table, task.data.steps - 1)).slice(0, 1)
    later = pc.add(last["date_time"], pa.scalar(dt.timedelta(hours=1)))
    place = last.column_names.index("date_time")
    pq.write_table(last.set_column(place, "date_time", later), folder / f"{task.data.steps:05d}.parquet")
    return folder


def _first(task: Task, folder: Path, count: int) -> Path:
    """A folder with the first files of another."""
    chosen = task.scratch / f"{folder.name}-first"
    if not chosen.exists():
        chosen.mkdir()
        for path in sorted(folder.glob("*.parquet"))[:count]:
            (chosen / path.name).symlink_to(path.resolve())
    return chosen
