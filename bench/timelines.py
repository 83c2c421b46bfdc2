"""l: streams and tables: windows and patterns beside Flink, versions, summaries, look-ups."""

from __future__ import annotations

import json
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import penstock
from bench import flink, lookups, past
from bench.measure import Effort, Meter, Runs
from bench.net import NOT_MEASURABLE
from bench.nexmark.systems.on_flink import flink_jars
from bench.nexmark.task import UnavailableError
from bench.programs import bare, collected
from bench.report import Bar, Figure, Line, milliseconds, shown

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_BEGIN = np.datetime64("2024-01-01", "us")
_DAY = datetime(2024, 1, 2)  # noqa: DTZ001 - naive UTC
_FILES, _HALVES, _KEYS = 20, 2, 1000
_TABLE = "CREATE STREAM t (at TIMESTAMP LATENESS INTERVAL 2 SECONDS, k BIGINT, x BIGINT) WITH ('history' = 'none');\n"
_WINDOWS = """SELECT STREAM TUMBLE_END(at, INTERVAL '1' MINUTE) AS closed, k, COUNT(*) AS n, SUM(x) AS s
FROM t GROUP BY TUMBLE(at, INTERVAL '1' MINUTE), k"""
_PATTERN = """SELECT * FROM t MATCH_RECOGNIZE (
  PARTITION BY k ORDER BY at
  MEASURES FIRST(a.at) AS began, LAST(c.at) AS ended, LAST(b.x) AS most
  ONE ROW PER MATCH AFTER MATCH SKIP PAST LAST ROW PATTERN (a b c) WITHIN INTERVAL '1' MINUTE
  DEFINE a AS a.x < 100, b AS b.x > 900, c AS c.x < 100) AS m"""
_FLINK_TABLE = (
    "CREATE TABLE t (`at` TIMESTAMP(3), k BIGINT, x BIGINT, WATERMARK FOR `at` AS `at` - INTERVAL '2' SECOND) "
    "WITH ('connector' = 'filesystem', 'path' = 'file://{folder}', 'format' = 'parquet', "
    "'parquet.utc-timezone' = 'true')"
)
_FLINK = {
    "windows": """SELECT window_end, k, COUNT(*) AS n, SUM(x) AS s
FROM TABLE(TUMBLE(TABLE t, DESCRIPTOR(`at`), INTERVAL '1' MINUTE)) GROUP BY window_start, window_end, k""",
    "pattern": _PATTERN.replace(".at", ".`at`").replace("BY at", "BY `at`"),
}
_BESIDE = (
    f"Flink reads the same rows in {_HALVES} files, throws its answers away, and its times are without those of the "
    "same job over no rows."
)
_PRICED = """
CREATE TABLE prices (product BIGINT PRIMARY KEY, price BIGINT, since TIMESTAMP LATENESS INTERVAL 1000 DAYS);
CREATE STREAM orders (at TIMESTAMP LATENESS INTERVAL 1000 DAYS, product BIGINT) WITH ('history' = 'none');
CREATE VIEW v AS SELECT o.at, o.product, p.price
FROM orders AS o JOIN prices FOR SYSTEM_TIME AS OF o.at AS p ON o.product = p.product;
"""
_OF_FLINK, _OF_CHANGE = 2.0, 1.3


def figure(spark: SparkSession, *, effort: Effort) -> Figure:
    """Each as a line, with what it is compared with."""
    size = 40_000 if effort.quick else 5_000_000
    runs = effort.runs(Runs(1, 3), quick=Runs(0, 1))
    folder = Path(tempfile.mkdtemp(prefix="penstock-bench-"))
    try:
        files = _written(folder, size)
        ours = {
            "windows": _timed(lambda: _streamed(files), runs),
            "pattern": _timed(lambda: _matched(files), runs),
        }
        theirs, beside = _on_flink(folder) if not effort.quick else ({}, "")
        streaming = _timed(lambda: _on_streaming(spark, files[0].parent, folder / "checkpoint"), runs)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    lines = [
        *_beside(
            "SELECT STREAM, a window of a minute for each of 1,000 keys", size, ours["windows"], theirs.get("windows")
        ),
        _rated("Structured Streaming, append mode", size, streaming, ours["windows"]),
        *_beside("MATCH_RECOGNIZE, three rows within a minute", size, ours["pattern"], theirs.get("pattern")),
        *_versions(effort),
        _summary(effort),
        _lookup(spark, effort),
    ]
    collected(spark)
    said = f"{size:,} rows in {_FILES} files of Parquet, one a step or a batch. {beside}".strip()
    return Figure("l", "Streams and tables", lines, runs, ("cost",), [said])


def _written(folder: Path, size: int) -> list[Path]:
    """The rows in order of time, within 5,000 seconds: in files for us, in halves and empty for Flink."""
    numbers = np.random.default_rng(11)
    at = _BEGIN + (np.arange(size) * (5_000_000_000 // size)).astype("timedelta64[us]")
    rows = pa.table(
        {
            "at": pa.array(at, pa.timestamp("us")),
            "k": numbers.integers(0, _KEYS, size),
            "x": numbers.integers(0, 1000, size),
        }
    )
    for name in ("steps", "full", "empty"):
        (folder / name).mkdir()
    piece = size // _FILES
    files = [folder / "steps" / f"{number:02d}.parquet" for number in range(_FILES)]
    for number, path in enumerate(files):
        pq.write_table(rows.slice(number * piece, piece), path)
    for half in range(_HALVES):
        pq.write_table(rows.take(pa.array(range(half, size, _HALVES))), folder / "full" / f"{half}.parquet")
        pq.write_table(rows.schema.empty_table(), folder / "empty" / f"{half}.parquet")
    return files


def _timed(work: Callable[[], int], runs: Runs) -> float:
    """The median of some runs, in seconds."""
    found = []
    for turn in range(runs.warm + runs.measured):
        began = time.perf_counter()
        if not work():
            msg = "nothing has come out"
            raise RuntimeError(msg)
        if turn >= runs.warm:
            found.append(time.perf_counter() - began)
    return statistics.median(found)


def _streamed(files: list[Path]) -> int:
    """All files as steps, with the windows that close; the number of rows that are shown."""
    with penstock.Pipeline(_TABLE, engine="native") as pipeline:
        query, shown_rows = pipeline.subscribe(_WINDOWS), 0
        for path in files:
            pipeline.step({"t": pq.read_table(path)})
            while (emission := query.get(0)) is not None:
                shown_rows += len(emission)
    return shown_rows


def _matched(files: list[Path]) -> int:
    """All files as steps, with the changes of the matches in hand."""
    with penstock.Pipeline(f"{_TABLE}CREATE VIEW v AS {_PATTERN};", engine="native") as pipeline:
        return sum(pipeline.step({"t": pq.read_table(path)})["v"].arrow().num_rows for path in files)


def _on_streaming(spark: SparkSession, folder: Path, checkpoint: Path) -> int:
    from pyspark.sql import functions as F  # noqa: N812

    before = spark.conf.get("spark.sql.shuffle.partitions")
    spark.conf.set("spark.sql.shuffle.partitions", "2")
    shutil.rmtree(checkpoint, ignore_errors=True)
    read = spark.readStream.schema("at TIMESTAMP, k BIGINT, x BIGINT").option("maxFilesPerTrigger", 1)
    rows = read.parquet(str(folder)).withWatermark("at", "2 seconds")
    grouped = rows.groupBy(F.window("at", "1 minute"), "k").agg(F.count("*"), F.sum("x"))
    writer = grouped.writeStream.outputMode("append").format("noop").trigger(availableNow=True)
    query = writer.option("checkpointLocation", str(checkpoint)).start()
    query.awaitTermination()
    spark.conf.set("spark.sql.shuffle.partitions", str(before))
    return len(query.recentProgress)


def _on_flink(folder: Path) -> tuple[dict[str, float], str]:
    """The seconds of each query, none where Flink does not run; and a note that says how they came, or why not."""
    order = folder / "order.json"
    try:
        asked = {
            "jars": ";".join(path.resolve().as_uri() for path in flink_jars()),
            "tables": [_FLINK_TABLE],
            "full": str(folder / "full"),
            "empty": str(folder / "empty"),
            "queries": _FLINK,
        }
        order.write_text(json.dumps(asked))
        found = json.loads(flink.output("flink_timelines.py", str(order), memory="4g"))
    except UnavailableError as error:
        return {}, flink.without(error)
    lost = [name for name, seconds in found.items() if seconds is None]
    note = f"{_BESIDE} {', '.join(lost)}: {NOT_MEASURABLE}, starting the job took as long." if lost else _BESIDE
    return {name: float(seconds) for name, seconds in found.items() if seconds is not None}, note


def _beside(what: str, size: int, ours: float, flink: float | None) -> Iterator[Line]:
    yield Line(what, (f"{size / ours:,.0f} rows/s",))
    if flink is not None:
        ratio = flink / ours
        bar = Bar(f"≥ {_OF_FLINK:g} × Flink", ratio >= _OF_FLINK)
        yield Line("Flink SQL, the same", (f"{size / flink:,.0f} rows/s; ours is {ratio:.2f} × Flink",), (bar,))


def _rated(what: str, size: int, theirs: float, ours: float) -> Line:
    return Line(what, (f"{size / theirs:,.0f} rows/s; ours is {theirs / ours:.2f} ×",))


@contextmanager
def _with_versions(count: int) -> Iterator[Callable[[], object]]:
    """A join with so many versions, ten of each product; gives a step of 1,000 orders and 100 versions."""
    numbers = np.random.default_rng(3)
    products = count // 10

    def times(size: int) -> pa.Array:
        moments = _BEGIN + numbers.integers(0, 86_400_000_000, size).astype("timedelta64[us]")
        return pa.array(moments, pa.timestamp("us"))

    def versions(size: int, keys: np.ndarray) -> pa.Table:
        return pa.table({"product": keys, "price": numbers.integers(1, 100, size), "since": times(size)})

    with penstock.Pipeline(_PRICED, engine="native") as pipeline:
        for turn in range(10):
            pipeline.step({"prices": versions(products, np.arange(products))}, clock=_DAY + timedelta(minutes=turn))

        def step() -> object:
            orders = pa.table({"at": times(1000), "product": numbers.integers(0, products, 1000)})
            changed = versions(100, numbers.choice(products, 100, replace=False))
            return pipeline.step({"orders": orders, "prices": changed})["v"].arrow()

        yield step


def _versions(effort: Effort) -> Iterator[Line]:
    few, many = (1000, 10_000) if effort.quick else (100_000, 1_000_000)
    with _with_versions(few) as less, _with_versions(many) as more:
        costs = Meter().interleaved({"few": less, "many": more}, effort.runs(Runs(5, 20), quick=Runs(0, 2)))
    ratio = costs["many"].over(costs["few"])
    bar = Bar(f"≤ {_OF_CHANGE:g} × with {few:,}", ratio.wall <= _OF_CHANGE)
    yield Line(f"FOR SYSTEM_TIME AS OF: 1,000 orders and 100 versions, {few:,} being there", (shown(costs["few"]),))
    yield Line(f"the same, {many:,} being there", (shown(costs["many"], costs["few"], f"with {few:,}"),), (bar,))


def _summary(effort: Effort) -> Line:
    size = 10_000 if effort.quick else 1_000_000
    found = past.costs(size, effort.runs(Runs(2, 10), quick=Runs(0, 1)))
    view, rows = found["view"], found["rows"]
    said = f"{milliseconds(view.wall)}; from the rows {milliseconds(rows.wall)} = {rows.wall / view.wall:.1f} ×"
    return Line(f"a question over {size:,} rows, answered from a MATERIALIZED view", (said,))


def _lookup(spark: SparkSession, effort: Effort) -> Line:
    rows, times = (10_000, 5) if effort.quick else (10_000_000, 200)
    found = lookups.one_lookup(rows, times)
    unit = bare(spark)
    for _ in range(2):
        unit()
    spent = []
    for _ in range(5):
        began = time.perf_counter()
        unit()
        spent.append((time.perf_counter() - began) * 1000)
    action = statistics.median(spent)
    bar = Bar("≤ 5 ms", found.clock <= 5)  # noqa: PLR2004 - the bar
    said = f"{found.clock:.2f} ms = {found.clock / action:.3f} × bare ({milliseconds(action)})"
    return Line(f"a look-up of one key in {rows:,} rows", (said,), (bar,))
