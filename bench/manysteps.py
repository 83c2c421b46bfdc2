"""d: whether anything grows: steps of a thousand rows after 20 and after 200 steps, and what the driver holds."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from bench.measure import Cost, Effort, Meter, Runs
from bench.programs import KEYED, TABLE, Program, agreeing, collected, rows, running
from bench.report import Figure, Line, shown
from bench.ways import WAYS, Way, bars

_TEXT = (
    TABLE
    + KEYED
    + """CREATE TABLE u (k BIGINT, y BIGINT) {with};
CREATE VIEW w AS SELECT y, count(*) AS n, sum(x) AS s FROM t JOIN u ON t.k = u.k GROUP BY y;
"""
)
_KEYS, _ROWS, _BOUND = 20_000, 1000, 1.3
_MEBIBYTE = 1 << 20


@dataclass(frozen=True)
class Held:
    """What is held, everything collectable collected."""

    heap: float
    blocks: int
    cached: float
    python: float

    def __str__(self) -> str:
        return (
            f"JVM {self.heap:.0f} MiB, Python {self.python:.0f} MiB, {self.blocks} cached RDDs of {self.cached:.0f} MiB"
        )


def figure(spark: SparkSession, *, effort: Effort) -> Figure:
    """The same step early and late."""
    early, late = (3, 12) if effort.quick else (20, 200)
    runs = effort.runs(Runs(0, 50), quick=Runs(0, 3))
    agreeing(spark, _TEXT, [{"u": _fixed(spark)}, {"t": rows(_ROWS, _KEYS)}], "v", "w")
    found, held = {}, {}
    for way in WAYS:
        found[way], held[way] = _measured(spark, way, (early, late), runs)
    ratios = {way: costs["late"].over(costs["early"]).wall for way, costs in found.items()}
    lines = [
        Line(f"a step of {_ROWS} rows after {early}", tuple(shown(costs["early"]) for costs in found.values())),
        Line(
            f"a step of {_ROWS} rows after {late}",
            tuple(shown(costs["late"], costs["early"], "") for costs in found.values()),
            bars(ratios, _BOUND, "the early step"),
        ),
    ]
    lines += [Line(f"held {when}", tuple(str(one[when]) for one in held.values())) for when in held[WAYS[0]]]
    note = f"The program: an aggregate, and a join with {_KEYS:,} rows that is then aggregated."
    return Figure("d", "Many steps", lines, runs, notes=(note,))


def _fixed(spark: SparkSession) -> DataFrame:
    return spark.range(_KEYS).selectExpr("id AS k", "id % 100 AS y")


def _measured(
    spark: SparkSession, way: Way, counts: tuple[int, int], runs: Runs
) -> tuple[dict[str, Cost], dict[str, Held]]:
    held: dict[str, Held] = {}
    with running(spark, {"late": _TEXT, "early": _TEXT}, way) as programs:
        for name, program in programs.items():
            program.step({"u": _fixed(spark)})
            for _ in range(counts[0]):
                _step(program)
            held[f"after {counts[0]} steps ({name} program)"] = held_by(spark)
            for _ in range(counts[1] - counts[0] if name == "late" else 0):
                _step(program)
            if name == "late":
                held[f"after {counts[1]} steps"] = held_by(spark)
        work = {name: lambda program=program: _step(program) for name, program in programs.items()}
        return Meter(spark).interleaved(work, runs), held


def _step(program: Program) -> None:
    program.answered({"t": rows(_ROWS, _KEYS)}, "v", "w")


def held_by(spark: SparkSession) -> Held:
    """What the session holds once everything that nobody needs is collected."""
    collected(spark)
    jvm = spark._jvm  # noqa: SLF001
    memory = jvm.java.lang.management.ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getUsed()
    infos = spark.sparkContext._jsc.sc().getRDDStorageInfo()  # noqa: SLF001
    cached = sum(info.memSize() + info.diskSize() for info in infos)
    return Held(memory / _MEBIBYTE, len(infos), cached / _MEBIBYTE, resident_mib())


def resident_mib() -> float:
    """What this process has in memory."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / _MEBIBYTE
