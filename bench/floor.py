"""a: what the smallest step costs, in units of one bare grouped query."""

from __future__ import annotations

from pyspark.sql import SparkSession

from bench.measure import Effort, Meter, Runs
from bench.programs import KEYED, MODES, TABLE, bare, rows, running
from bench.report import Figure, Line, shown

CHAINED = """CREATE VIEW v AS
WITH a AS (SELECT k, count(*) AS n, sum(x) AS s FROM t GROUP BY k),
     b AS (SELECT n, count(*) AS c FROM a WHERE s + 1 > 0 GROUP BY n),
     d AS (SELECT c, count(*) AS m FROM b GROUP BY c),
     e AS (SELECT m, count(*) AS z FROM d GROUP BY m)
SELECT z, count(*) AS y FROM e GROUP BY z;
"""
_BOUNDS = {"one keyed aggregate": 3.0, "five chained aggregates": 6.0}


def figure(spark: SparkSession, *, effort: Effort) -> Figure:
    """The floor of a step of 10 rows."""
    runs = effort.runs(Runs(50, 50), quick=Runs(2, 3))
    cells: dict[str, list[str]] = {"bare": [], **{name: [] for name in _BOUNDS}}
    ratios: dict[str, list[float]] = {name: [] for name in _BOUNDS}
    for mode in MODES:
        with running(spark, dict(zip(_BOUNDS, (TABLE + KEYED, TABLE + CHAINED), strict=True)), mode) as programs:
            work = {"bare": bare(spark)}
            for name, program in programs.items():
                work[name] = lambda program=program: program.answered({"t": rows(10, 1000)}, "v")
            found = Meter(spark).interleaved(work, runs)
        cells["bare"].append(shown(found["bare"]))
        for name in _BOUNDS:
            cells[name].append(shown(found[name], found["bare"]))
            ratios[name].append(found[name].over(found["bare"]).wall)
    lines = [Line("bare: one grouped query of Spark over 10 rows", tuple(cells["bare"]))]
    lines += [
        Line(f"10 rows through {name}", tuple(cells[name]), f"≤ {bound:.0f} × bare", max(ratios[name]) <= bound)
        for name, bound in _BOUNDS.items()
    ]
    return Figure("a", "The floor: a step of ten rows", lines, runs)
