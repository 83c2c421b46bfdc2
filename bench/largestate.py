"""c: a step over ten times the state."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import SparkSession

from bench.measure import Cost, Effort, Meter, Runs
from bench.programs import KEYED, TABLE, Program, agreeing, rows, running
from bench.report import Figure, Line, shown
from bench.ways import WAYS, Found, Way, bars

_JOIN = """CREATE TABLE u (k BIGINT, y BIGINT) {with};
CREATE VIEW v AS SELECT t.k, t.x, u.y FROM t JOIN u ON t.k = u.k;
"""
_BOUND = {"native": 1.3, "spark": 2.0}
_LARGE, _SHARE = 5_000_000, 10
_COMPARED = 1000


def figure(spark: SparkSession, *, effort: Effort) -> Figure:
    """A join and an aggregate, with a state and with one ten times as large."""
    large = _LARGE // 100 if effort.quick else _LARGE
    runs = effort.runs(Runs(8, 20), quick=Runs(1, 2))
    lines = []
    for what, text, table, changed in (
        ("join", TABLE + _JOIN, "u", large // 100),
        ("aggregate", TABLE + KEYED, "t", large // 500),
    ):
        first, then = {table: _state(spark, WAYS[0], table, _COMPARED)}, {"t": rows(_COMPARED, 2 * _COMPARED)}
        agreeing(spark, text, [first, then], "v")
        found = {way: _measured(spark, text, (table, large, changed), way, runs) for way in WAYS}
        lines += _lines(what, large, changed, found)
    return Figure("c", "Small changes, large state", lines, runs)


def _measured(spark: SparkSession, text: str, sizes: tuple[str, int, int], way: Way, runs: Runs) -> dict[str, Cost]:
    table, large, changed = sizes
    states = {"small": large // _SHARE, "large": large}
    with running(spark, dict.fromkeys(states, text), way) as programs:
        for name, size in states.items():
            programs[name].step({table: _state(spark, way, table, size)})

        def stepped(program: Program, keys: int) -> object:
            return program.answered({"t": rows(changed, keys)}, "v")

        work = {name: lambda name=name, size=size: stepped(programs[name], size) for name, size in states.items()}
        return Meter(spark).interleaved(work, runs)


def _state(spark: SparkSession, way: Way, table: str, size: int) -> Any:
    """Rows with every key once: of Arrow for the process, of Spark for Spark."""
    other = "y" if table == "u" else "x"
    if way.engine == "spark":
        return spark.range(size).selectExpr("id AS k", f"id % 1000 AS {other}")
    keys = np.arange(size)
    return pa.table({"k": keys, other: keys % 1000})


def _lines(what: str, large: int, changed: int, found: Found) -> list[Line]:
    ratios = {way: costs["large"].over(costs["small"]).wall for way, costs in found.items()}
    return [
        Line(
            f"{what}: {changed:,} changes, {large // _SHARE:,} rows of state",
            tuple(shown(costs["small"]) for costs in found.values()),
        ),
        Line(
            f"{what}: {changed:,} changes, {large:,} rows of state",
            tuple(shown(costs["large"], costs["small"], "") for costs in found.values()),
            bars(ratios, _BOUND, "a tenth of the state"),
        ),
    ]
