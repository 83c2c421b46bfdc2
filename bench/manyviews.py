"""e: programs of twenty views: all of them touched, and one."""

from __future__ import annotations

from pyspark.sql import SparkSession

from bench.floor import in_units, units
from bench.measure import Cost, Effort, Meter, Runs
from bench.programs import KEYED, TABLE, agreeing, bare, grouped, rows, running
from bench.report import Figure, Line, shown
from bench.ways import WAYS, Way, bars, bars_in_units

_VIEWS = 20
_NAMES = tuple(f"v{at}" for at in range(_VIEWS))
_ALL = TABLE + "".join(
    f"CREATE VIEW v{at} AS SELECT k % {at + 2} AS g, sum(x) AS s, count(*) AS n FROM t GROUP BY k % {at + 2};\n"
    for at in range(_VIEWS)
)
_APART = "".join(
    f"CREATE TABLE t{at} (k BIGINT, x BIGINT) {{with}};\n"
    f"CREATE VIEW v{at} AS SELECT k, sum(x) AS s, count(*) AS n FROM t{at} GROUP BY k;\n"
    for at in range(_VIEWS)
)
_TEXTS = {"one": TABLE + KEYED, "all": _ALL, "apart": _APART}
_ONE_BOUND = 1.3
_FURTHER = {"native": 3.0, "spark": 1.0}


def figure(spark: SparkSession, *, effort: Effort) -> Figure:
    """What a further view costs that a step touches, and one that it does not."""
    runs = effort.runs(Runs(20, 30), quick=Runs(1, 2))
    agreeing(spark, _ALL, [{"t": rows(10, 20)} for _ in range(2)], *_NAMES)
    found = {way: _measured(spark, way, runs) for way in WAYS}
    untouched = {way: costs["apart"].over(costs["one"]).wall for way, costs in found.items()}
    apart = tuple(shown(costs["apart"], costs["one"], "the program of one view") for costs in found.values())
    lines = [
        *units(found),
        Line("10 rows, one view", in_units(found, "one")),
        Line(f"10 rows that touch {_VIEWS} views", in_units(found, "all")),
        Line("each further view", in_units(found, "further"), bars_in_units(found, "further", _FURTHER)),
        Line(f"10 rows that touch 1 of {_VIEWS} views", apart, bars(untouched, _ONE_BOUND, "one view")),
    ]
    return Figure("e", "Many views", lines, runs)


def _measured(spark: SparkSession, way: Way, runs: Runs) -> dict[str, Cost]:
    with running(spark, _TEXTS, way) as programs:
        work = {
            "bare": bare(spark),
            "grouped": grouped(),
            "one": lambda: programs["one"].answered({"t": rows(10, 1000)}, "v"),
            "all": lambda: programs["all"].answered({"t": rows(10, 1000)}, *_NAMES),
            "apart": lambda: programs["apart"].answered({"t7": rows(10, 1000)}, "v7"),
        }
        found = Meter(spark).interleaved(work, runs)
    return found | {"further": _further(found["one"], found["all"])}


def _further(one: Cost, every: Cost) -> Cost:
    return Cost((every.wall - one.wall) / (_VIEWS - 1), (every.cpu - one.cpu) / (_VIEWS - 1))
