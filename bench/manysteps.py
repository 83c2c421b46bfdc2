"""d: whether anything grows: steps of a thousand rows after 20 and after 200 steps, and what the driver holds."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import SparkSession

from bench.measure import Cost, Effort, Meter, Runs
from bench.programs import KEYED, MODES, TABLE, Program, collected, rows, running
from bench.report import Figure, Line, shown

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
    found, held = {}, {}
    for mode in MODES:
        found[mode], held[mode] = _measured(spark, mode, (early, late), runs)
    ratio = max(found[mode]["late"].over(found[mode]["early"]).wall for mode in MODES)
    lines = [
        Line(f"a step of {_ROWS} rows after {early}", tuple(shown(found[mode]["early"]) for mode in MODES)),
        Line(
            f"a step of {_ROWS} rows after {late}",
            tuple(shown(found[mode]["late"], found[mode]["early"], "") for mode in MODES),
            f"≤ {_BOUND} ×",
            ratio <= _BOUND,
        ),
    ]
    lines += [Line(f"held {when}", tuple(str(held[mode][when]) for mode in MODES)) for when in held["none"]]
    note = f"The program: an aggregate, and a join with {_KEYS:,} rows that is then aggregated."
    return Figure("d", "Many steps", lines, runs, notes=(note,))


def _measured(
    spark: SparkSession, mode: str, counts: tuple[int, int], runs: Runs
) -> tuple[dict[str, Cost], dict[str, Held]]:
    held: dict[str, Held] = {}
    with running(spark, {"late": _TEXT, "early": _TEXT}, mode) as programs:
        for name, program in programs.items():
            program.step({"u": spark.range(_KEYS).selectExpr("id AS k", "id % 100 AS y")})
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
    with open("/proc/self/statm") as file:  # noqa: PTH123
        resident = int(file.read().split()[1]) * 4096
    return Held(memory / _MEBIBYTE, len(infos), cached / _MEBIBYTE, resident / _MEBIBYTE)
