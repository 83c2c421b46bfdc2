"""a: what the smallest step costs, in units of one grouped query: of DuckDB, and of Spark (`bare`)."""

from __future__ import annotations

from pyspark.sql import SparkSession

from bench.measure import Cost, Effort, Meter, Runs
from bench.programs import KEYED, TABLE, agreeing, bare, grouped, rows, running
from bench.report import Figure, Line, milliseconds
from bench.ways import WAYS, Found, Way, bars_in_units

CHAINED = """CREATE VIEW v AS
WITH a AS (SELECT k, count(*) AS n, sum(x) AS s FROM t GROUP BY k),
     b AS (SELECT n, count(*) AS c FROM a WHERE s + 1 > 0 GROUP BY n),
     d AS (SELECT c, count(*) AS m FROM b GROUP BY c),
     e AS (SELECT m, count(*) AS z FROM d GROUP BY m)
SELECT z, count(*) AS y FROM e GROUP BY z;
"""
_TEXTS = {"one keyed aggregate": TABLE + KEYED, "five chained aggregates": TABLE + CHAINED}
_BOUNDS = {
    "one keyed aggregate": {"native": 8.0, "spark": 3.0},
    "five chained aggregates": {"native": 20.0, "spark": 6.0},
}


def figure(spark: SparkSession, *, effort: Effort) -> Figure:
    """The floor of a step of 10 rows."""
    runs = effort.runs(Runs(50, 50), quick=Runs(2, 3))
    for text in _TEXTS.values():
        agreeing(spark, text, [{"t": rows(10, 20)} for _ in range(3)], "v")
    found = {way: _measured(spark, way, runs) for way in WAYS}
    lines = units(found)
    lines += [
        Line(f"10 rows through {name}", in_units(found, name), bars_in_units(found, name, bounds))
        for name, bounds in _BOUNDS.items()
    ]
    return Figure("a", "The floor: a step of ten rows", lines, runs)


def _measured(spark: SparkSession, way: Way, runs: Runs) -> dict[str, Cost]:
    with running(spark, _TEXTS, way) as programs:
        work = {"bare": bare(spark), "grouped": grouped()}
        for name, program in programs.items():
            work[name] = lambda program=program: program.answered({"t": rows(10, 1000)}, "v")
        return Meter(spark).interleaved(work, runs)


def units(found: Found) -> list[Line]:
    """What the units cost that steps took turns with."""
    said = {"bare": "bare: one grouped query of Spark over 10 rows", "grouped": "grouped: the same query of DuckDB"}
    return [
        Line(what, tuple(milliseconds(costs[name].wall) for costs in found.values())) for name, what in said.items()
    ]


def in_units(found: Found, name: str) -> tuple[str, ...]:
    """A cost for each way, in units of both."""
    return tuple(_in_both(costs[name], costs) for costs in found.values())


def _in_both(cost: Cost, costs: dict[str, Cost]) -> str:
    over = {unit: cost.over(costs[unit]).wall for unit in ("grouped", "bare")}
    return f"{milliseconds(cost.wall)} = {over['grouped']:.1f} × grouped, {over['bare']:.2f} × bare"
