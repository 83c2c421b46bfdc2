"""b: large steps: SUM, COUNT and AVG by a million keys, a million rows at a time, every update emitted."""

from __future__ import annotations

import itertools
import json
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession

from bench import flink
from bench.measure import Cost, Effort, Meter, Runs
from bench.net import NOT_MEASURABLE
from bench.nexmark.task import UnavailableError
from bench.programs import TABLE, agreeing, running
from bench.report import Figure, Line
from bench.ways import ENGINES, WAYS, Found, Way, bars

_VIEW = "CREATE VIEW v AS SELECT k, sum(x) AS s, count(*) AS n, avg(x) AS a FROM t GROUP BY k;\n"
_FILES = 4
_BATCH, _FLINK_BOUND = {"native": 0.8, "spark": 0.5}, 2.0
_KEPT = (
    "The rows lie in Parquet, which native reads as Arrow and Spark as a DataFrame. Of a step on Spark, one half is "
    "grouping the rows with the state and writing that: a million groups with their partial results before and after. "
    "A quarter is the view's change, an old and a new row for each group, and most of that is the JVM collecting what "
    "the step before has left. A batch query keeps none of this. With a directory the rows are written as well."
)
_BESIDE = "Flink makes its rows itself and throws the updates away; the start of its job is not counted."


def figure(spark: SparkSession, *, effort: Effort) -> Figure:
    """Rows per second against Spark's own batch query, and against Flink where it is installed."""
    count = 20_000 if effort.quick else 1_000_000
    runs = effort.runs(Runs(4, 8), quick=Runs(1, 2))
    folder = Path(tempfile.mkdtemp(prefix="penstock-bench-"))
    try:
        paths = [_written(spark, folder / str(number), count, number) for number in range(_FILES)]
        agreeing(spark, TABLE + _VIEW, [{"t": pq.read_table(path)} for path in paths[:2]], "v")
        found = {way: _measured(spark, paths, way, runs) for way in WAYS}
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    lines = [
        Line("Spark's own batch GROUP BY", tuple(_rate(count, costs["batch"]) for costs in found.values())),
        _against_batch(count, found),
    ]
    notes = [_KEPT]
    if not effort.quick:
        try:
            lines.append(_against_flink(count, found, flink_rate()))
            notes.append(_BESIDE)
        except UnavailableError as error:
            notes.append(flink.without(error))
    return Figure("b", f"Throughput: {count:,} rows a step on {count:,} keys", lines, runs, notes=notes)


def _written(spark: SparkSession, path: Path, count: int, seed: int) -> Path:
    made = spark.range(count).selectExpr(f"pmod(xxhash64(id, {seed}), {count}) AS k", "id % 1000 AS x")
    made.write.parquet(str(path))
    return path


def _measured(spark: SparkSession, paths: list[Path], way: Way, runs: Runs) -> dict[str, Cost]:
    from pyspark.sql import functions as F  # noqa: N812

    def frame(path: Path) -> DataFrame:
        return spark.read.schema("k BIGINT, x BIGINT").parquet(str(path))

    readers: dict[str, Callable[[Path], Any]] = dict(zip(ENGINES, (pq.read_table, frame), strict=True))
    turns = {name: itertools.cycle(paths) for name in ("batch", "step")}

    def batch() -> None:
        grouped = frame(next(turns["batch"])).groupBy("k").agg(F.sum("x"), F.count("*"), F.avg("x"))
        grouped.write.format("noop").mode("overwrite").save()

    def step() -> None:
        changed = programs["v"].step({"t": readers[way.engine](next(turns["step"]))})
        if way.engine == "native":  # on Spark a step has evaluated its changes, on the executors
            changed["v"].arrow()

    with running(spark, {"v": TABLE + _VIEW}, way) as programs:
        return Meter(spark).interleaved({"batch": batch, "step": step}, runs)


def _per_second(count: int, cost: Cost) -> float:
    return count / cost.wall * 1000


def _rate(count: int, cost: Cost) -> str:
    return f"{_per_second(count, cost):,.0f} rows/s"


def _against_batch(count: int, found: Found) -> Line:
    over = {way: costs["batch"].over(costs["step"]) for way, costs in found.items()}
    cells = tuple(
        f"{_rate(count, costs['step'])} = {over[way].wall:.2f} × batch (CPU {over[way].cpu:.2f})"
        for way, costs in found.items()
    )
    judged = bars({way: ratio.wall for way, ratio in over.items()}, _BATCH, "batch", least=True)
    return Line("a step", cells, judged)


def _against_flink(count: int, found: Found, flink: float) -> Line:
    over = {way: _per_second(count, costs["step"]) / flink for way, costs in found.items()}
    cells = tuple(f"{ratio:.2f} × Flink" for ratio in over.values())
    what = f"Flink SQL, the same query: {flink:,.0f} rows/s"
    return Line(what, cells, bars(over, _FLINK_BOUND, "Flink", least=True))


def flink_rate() -> float:
    """Rows per second of the same query on Flink SQL; UnavailableError where it does not run."""
    rate = json.loads(flink.output("flink_job.py"))["rows_per_second"]
    if rate is None:
        message = f"its rate is {NOT_MEASURABLE}: starting the job took as long as the rows"
        raise UnavailableError(message)
    return float(rate)
