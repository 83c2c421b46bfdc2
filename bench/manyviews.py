"""e: programs of twenty views: all of them touched, and one."""

from __future__ import annotations

from pyspark.sql import SparkSession

from bench.measure import Cost, Effort, Meter, Runs
from bench.programs import KEYED, MODES, TABLE, bare, rows, running
from bench.report import Figure, Line, shown

_VIEWS = 20
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


def figure(spark: SparkSession, *, effort: Effort) -> Figure:
    """What a further view costs that a step touches, and one that it does not."""
    runs = effort.runs(Runs(20, 30), quick=Runs(1, 2))
    found = {mode: _measured(spark, mode, runs) for mode in MODES}
    further = {mode: _further(found[mode]) for mode in MODES}
    untouched = max(found[mode]["apart"].over(found[mode]["one"]).wall for mode in MODES)
    lines = [
        Line("bare", tuple(shown(found[mode]["bare"]) for mode in MODES)),
        Line("10 rows, one view", tuple(shown(found[mode]["one"], found[mode]["bare"]) for mode in MODES)),
        Line(f"10 rows that touch {_VIEWS} views", tuple(shown(found[mode]["all"]) for mode in MODES)),
        Line(
            "each further view",
            tuple(shown(further[mode], found[mode]["bare"]) for mode in MODES),
            "≤ 1 × bare",
            max(further[mode].over(found[mode]["bare"]).wall for mode in MODES) <= 1,
        ),
        Line(
            f"10 rows that touch 1 of {_VIEWS} views",
            tuple(shown(found[mode]["apart"], found[mode]["one"], "the program of one view") for mode in MODES),
            f"≤ {_ONE_BOUND} ×",
            untouched <= _ONE_BOUND,
        ),
    ]
    return Figure("e", "Many views", lines, runs)


def _further(found: dict[str, Cost]) -> Cost:
    one, every = found["one"], found["all"]
    return Cost((every.wall - one.wall) / (_VIEWS - 1), (every.cpu - one.cpu) / (_VIEWS - 1))


def _measured(spark: SparkSession, mode: str, runs: Runs) -> dict[str, Cost]:
    with running(spark, _TEXTS, mode) as programs:
        names = tuple(f"v{at}" for at in range(_VIEWS))
        work = {
            "bare": bare(spark),
            "one": lambda: programs["one"].answered({"t": rows(10, 1000)}, "v"),
            "all": lambda: programs["all"].answered({"t": rows(10, 1000)}, *names),
            "apart": lambda: programs["apart"].answered({"t7": rows(10, 1000)}, "v7"),
        }
        return Meter(spark).interleaved(work, runs)
