"""g: what LATENESS costs and what it saves: steps and state while time goes on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import SparkSession

from bench.measure import Effort, Meter, Runs
from bench.programs import Program, agreeing, running
from bench.report import Bar, Figure, Line, shown
from bench.ways import WAYS, bars

_TABLE = "CREATE TABLE t (at TIMESTAMP{late}, k BIGINT, x BIGINT) {{with}};\n"
_WINDOWS = """CREATE VIEW v AS SELECT window_start, window_end, k, count(*) AS n, sum(x) AS s
FROM TABLE(TUMBLE(TABLE t, DESCRIPTOR(at), INTERVAL 1 MINUTE)) GROUP BY window_start, window_end, k;
"""
_NEAR = """CREATE TABLE u (at TIMESTAMP{late}, k BIGINT, y BIGINT) {{with}};
CREATE VIEW v AS SELECT t.at, t.k, x, y FROM t JOIN u
ON t.k = u.k AND u.at BETWEEN t.at - INTERVAL 1 MINUTE AND t.at + INTERVAL 1 MINUTE;
"""
_LATE = " LATENESS INTERVAL 2 MINUTES"
_ROWS, _KEYS, _AT_ONCE = 1000, 100, 10
_GROWTH, _COST, _FLAT, _INFERENCE = 1.1, 1.15, 1.1, 5.0
_BEGIN = datetime(2024, 1, 1)  # noqa: DTZ001 - naive UTC
_NUMBERS = np.random.default_rng(7)


def figure(spark: SparkSession, *, effort: Effort) -> Figure:
    """Windows of time, an interval join, and the analysis itself."""
    runs = effort.runs(Runs(5, 30), quick=Runs(0, 1))
    counts = (10, 20) if effort.quick else (10, 100, 1000)
    lines = [
        *_growing(spark, "a minute of a tumbling aggregate", _TABLE + _WINDOWS, counts, runs),
        *_growing(spark, "a minute of an interval join", _TABLE + _NEAR, counts[:2], runs),
        _price(spark, runs),
        _inference(runs),
    ]
    note = (
        f"A step brings one minute: {_ROWS:,} rows of {_KEYS} keys, in order. What is compared runs in turn. Live "
        "state is what is left after `compact`; the most is what there was between merges."
    )
    return Figure("g", "Time: steps and state that stay as they are", lines, runs, notes=(note,))


class _Clockwork:
    """A program that is fed minute after minute."""

    def __init__(self, program: Program, tables: tuple[str, ...]) -> None:
        self.program = program
        self.tables = tables
        self.minute = 0
        self.most = 0

    def step(self, minutes: int = 1) -> None:
        """Bring so many minutes as one step."""
        begin = self.minute
        self.minute += minutes
        self.program.answered({name: _minutes(begin, minutes, name) for name in self.tables}, "v")
        self.most = max(self.most, self.rows())

    def rows(self) -> int:
        """How many rows the operators keep."""
        return sum(item.rows for item in self.program.pipeline.state())

    def live(self) -> int:
        """How many of them can still be touched."""
        self.program.compact()
        return self.rows()


def _minutes(begin: int, count: int, table: str) -> pa.Table:
    seconds = np.sort(_NUMBERS.integers(0, 60_000_000 * count, _ROWS * count))
    first = np.datetime64(_BEGIN + timedelta(minutes=begin), "us")
    columns: dict[str, Any] = {
        "at": pa.array(first + seconds.astype("timedelta64[us]"), pa.timestamp("us")),
        "k": _NUMBERS.integers(0, _KEYS, _ROWS * count),
    }
    return pa.table({**columns, "x" if table == "t" else "y": _NUMBERS.integers(0, 1000, _ROWS * count)})


def _growing(spark: SparkSession, what: str, text: str, counts: tuple[int, ...], runs: Runs) -> list[Line]:
    """The same step and the state after so many minutes, against those after the first of them."""
    costs, most, live = {}, {}, {}
    late = text.format(late=_LATE)
    agreeing(spark, late, [{name: _minutes(at, 1, name) for name in _tables(text)} for at in range(3)], "v")
    for way in WAYS:
        with running(spark, {str(count): late for count in counts}, way) as programs:
            found = {int(name): _Clockwork(program, _tables(text)) for name, program in programs.items()}
            for count, work in found.items():
                while work.minute < count:
                    work.step(_AT_ONCE)
                work.live()
                work.most = 0
            steps: Mapping[str, Callable[[], object]] = {str(count): work.step for count, work in found.items()}
            costs[way] = Meter(spark).interleaved(steps, runs)
            most[way] = {count: work.most for count, work in found.items()}
            live[way] = {count: work.live() for count, work in found.items()}
    first, *rest = counts
    lines = [Line(f"{what} after {first}", tuple(shown(found[str(first)]) for found in costs.values()))]
    for count in rest:
        ratios = {way: found[str(count)].over(found[str(first)]).wall for way, found in costs.items()}
        cells = tuple(shown(found[str(count)], found[str(first)], "") for found in costs.values())
        lines.append(Line(f"{what} after {count}", cells, bars(ratios, _GROWTH, f"after {first}")))
    cells = tuple("; ".join(f"{live[way][count]:,} (most {most[way][count]:,})" for count in counts) for way in WAYS)
    flat = {way: max(live[way][count] / live[way][first] for count in rest) for way in WAYS}
    return [*lines, Line("its live rows of state", cells, bars(flat, _FLAT, f"after {first}"))]


def _tables(text: str) -> tuple[str, ...]:
    return ("t", "u") if "TABLE u" in text else ("t",)


def _price(spark: SparkSession, runs: Runs) -> Line:
    """The same program with and without LATENESS, on rows in order."""
    costs = {}
    texts = {name: (_TABLE + _WINDOWS).format(late=late) for name, late in (("with", _LATE), ("without", ""))}
    for way in WAYS:
        with running(spark, texts, way) as programs:
            work = {name: _Clockwork(program, ("t",)).step for name, program in programs.items()}
            costs[way] = Meter(spark).interleaved(work, runs)
    ratios = {way: found["with"].over(found["without"]).wall for way, found in costs.items()}
    cells = tuple(shown(found["with"], found["without"], "without") for found in costs.values())
    return Line("LATENESS", cells, bars(ratios, _COST, "without"))


def _inference(runs: Runs) -> Line:
    """Waterlines and what can be forgotten, for a view: what a check takes more with them than without."""
    from penstock.bind.program.compile import compile_program
    from penstock.circuit.boundedness import state_of

    views = 20
    view = _WINDOWS.replace("VIEW v", "VIEW v{at}")
    text = _TABLE.format(late=_LATE).format(**{"with": ""}) + "".join(view.format(at=at) for at in range(views))

    def facts() -> None:
        catalog = compile_program(text, None).catalog
        for item in catalog.views.values():
            state_of(item.plan, catalog)

    costs = Meter().interleaved({"check": lambda: compile_program(text, None), "facts": facts}, runs)
    more = (costs["facts"].wall - costs["check"].wall) / views
    cell = f"{more:.1f} ms for each view (check {costs['check'].wall / views:.1f} ms)"
    blank = [""] * (len(WAYS) - 1)
    return Line("waterlines and what is dropped", (cell, *blank), (Bar(f"≤ {_INFERENCE:.0f} ms", more <= _INFERENCE),))
