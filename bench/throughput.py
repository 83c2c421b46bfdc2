"""b: large steps: SUM, COUNT and AVG by a million keys, a million rows at a time, every update emitted."""

from __future__ import annotations

import itertools
import json
import shutil
import subprocess
import tempfile
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from bench.measure import Cost, Effort, Meter, Runs
from bench.programs import MODES, TABLE, running
from bench.report import Figure, Line

_VIEW = "CREATE VIEW v AS SELECT k, sum(x) AS s, count(*) AS n, avg(x) AS a FROM t GROUP BY k;\n"
_FLINK = Path(__file__).parent.parent / ".venv-flink" / "bin" / "python"
_FILES = 4
_KEPT = (
    "Of a step, one half is grouping the rows with the state and writing that: a million groups with their partial "
    "results before and after. A quarter is the view's change, an old and a new row for each group, and most of that "
    "is the JVM collecting what the step before has left. A batch query keeps none of this. With a directory the rows "
    "are written as Parquet as well."
)
_NOTES = (
    _KEPT,
    "Flink makes its rows itself and throws the updates away; the start of its job is not counted.",
)


def figure(spark: SparkSession, *, effort: Effort) -> Figure:
    """Rows per second against Spark's own batch query, and against Flink where it is installed."""
    count = 20_000 if effort.quick else 1_000_000
    runs = effort.runs(Runs(4, 8), quick=Runs(1, 2))
    folder = Path(tempfile.mkdtemp(prefix="penstock-bench-"))
    try:
        inputs = [_written(spark, folder / str(number), count, number) for number in range(_FILES)]
        found = {mode: _measured(spark, inputs, mode, runs) for mode in MODES}
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    lines = [
        Line("Spark's own batch GROUP BY", tuple(_rate(count, found[mode]["batch"]) for mode in MODES)),
        _against("a step", count, found, "batch", 0.5),
    ]
    flink = None if effort.quick else flink_rate()
    if flink is not None:
        ours = [count / found[mode]["step"].wall * 1000 for mode in MODES]
        cells = tuple(f"{rate / flink:.2f} × Flink" for rate in ours)
        lines.append(
            Line(f"Flink SQL, the same query: {flink:,.0f} rows/s", cells, "≥ 2 × Flink", min(ours) >= 2 * flink)
        )
    notes = _NOTES if flink is not None else _NOTES[:1]
    return Figure("b", f"Throughput: {count:,} rows a step on {count:,} keys", lines, runs, notes=notes)


def _written(spark: SparkSession, path: Path, count: int, seed: int) -> DataFrame:
    made = spark.range(count).selectExpr(f"pmod(xxhash64(id, {seed}), {count}) AS k", "id % 1000 AS x")
    made.write.parquet(str(path))
    return spark.read.schema(made.schema).parquet(str(path))


def _measured(spark: SparkSession, inputs: list[DataFrame], mode: str, runs: Runs) -> dict[str, Cost]:
    from pyspark.sql import functions as F  # noqa: N812

    turns = {name: itertools.cycle(inputs) for name in ("batch", "step")}

    def batch() -> None:
        grouped = next(turns["batch"]).groupBy("k").agg(F.sum("x"), F.count("*"), F.avg("x"))
        grouped.write.format("noop").mode("overwrite").save()

    with running(spark, {"v": TABLE + _VIEW}, mode) as programs:
        work = {"batch": batch, "step": lambda: programs["v"].step({"t": next(turns["step"])})}
        return Meter(spark).interleaved(work, runs)


def _rate(count: int, cost: Cost) -> str:
    return f"{count / cost.wall * 1000:,.0f} rows/s"


def _against(what: str, count: int, found: dict[str, dict[str, Cost]], base: str, bound: float) -> Line:
    cells, kept = [], True
    for mode in MODES:
        ratio = found[mode][base].over(found[mode]["step"])
        kept = kept and ratio.wall >= bound
        cells.append(f"{_rate(count, found[mode]['step'])} = {ratio.wall:.2f} × {base} (CPU {ratio.cpu:.2f})")
    return Line(what, tuple(cells), f"≥ {bound} × {base}", kept)


def flink_rate() -> float | None:
    """Rows per second of the same query on Flink SQL; None without an environment `.venv-flink` that has it."""
    if not _FLINK.exists():
        return None
    job = Path(__file__).parent / "flink_job.py"
    found = subprocess.run([str(_FLINK), str(job)], capture_output=True, text=True, check=False)  # noqa: S603
    if found.returncode:
        print(found.stderr[-2000:])
        return None
    return float(json.loads(found.stdout.splitlines()[-1])["rows_per_second"])
