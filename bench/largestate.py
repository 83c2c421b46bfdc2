"""c: a step over ten times the state."""

from __future__ import annotations

from pyspark.sql import SparkSession

from bench.measure import Cost, Effort, Meter, Runs
from bench.programs import KEYED, MODES, TABLE, Program, rows, running
from bench.report import Figure, Line, shown

_JOIN = """CREATE TABLE u (k BIGINT, y BIGINT) {with};
CREATE VIEW v AS SELECT t.k, t.x, u.y FROM t JOIN u ON t.k = u.k;
"""
_BOUND = 2.0
_LARGE, _SHARE = 5_000_000, 10


def figure(spark: SparkSession, *, effort: Effort) -> Figure:
    """A join and an aggregate, with a state and with one ten times as large."""
    large = _LARGE // 100 if effort.quick else _LARGE
    runs = effort.runs(Runs(8, 20), quick=Runs(1, 2))
    lines = []
    for what, text, table, changed in (
        ("join", TABLE + _JOIN, "u", large // 100),
        ("aggregate", TABLE + KEYED, "t", large // 500),
    ):
        found = {mode: _measured(spark, text, (table, large, changed), mode, runs) for mode in MODES}
        lines += _lines(what, large, changed, found)
    return Figure("c", "Small changes, large state", lines, runs)


def _measured(spark: SparkSession, text: str, sizes: tuple[str, int, int], mode: str, runs: Runs) -> dict[str, Cost]:
    table, large, changed = sizes
    states = {"small": large // _SHARE, "large": large}
    with running(spark, dict.fromkeys(states, text), mode) as programs:
        for name, size in states.items():
            other = "y" if table == "u" else "x"
            programs[name].step({table: spark.range(size).selectExpr("id AS k", f"id % 1000 AS {other}")})

        def stepped(program: Program, keys: int) -> object:
            return program.step({"t": rows(changed, keys)})

        work = {name: lambda name=name, size=size: stepped(programs[name], size) for name, size in states.items()}
        return Meter(spark).interleaved(work, runs)


def _lines(what: str, large: int, changed: int, found: dict[str, dict[str, Cost]]) -> list[Line]:
    small = f"{what}: {changed:,} changes, {large // _SHARE:,} rows of state"
    ratio = max(found[mode]["large"].over(found[mode]["small"]).wall for mode in MODES)
    return [
        Line(small, tuple(shown(found[mode]["small"]) for mode in MODES)),
        Line(
            f"{what}: {changed:,} changes, {large:,} rows of state",
            tuple(shown(found[mode]["large"], found[mode]["small"], "") for mode in MODES),
            f"≤ {_BOUND:.0f} ×",
            ratio <= _BOUND,
        ),
    ]
