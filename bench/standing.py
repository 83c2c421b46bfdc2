"""k: queries that stand, beside the views that they are: what EMIT costs, what it keeps, how soon a row is shown."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from itertools import count

import numpy as np
import pyarrow as pa
from pyspark.sql import SparkSession

import penstock
from bench import flink
from bench.measure import Cost, Effort, Meter, Runs
from bench.nexmark.task import UnavailableError
from bench.programs import bare, collected, rows
from bench.report import Bar, Figure, Line, milliseconds, shown

_MINUTES = """CREATE TABLE t (at TIMESTAMP LATENESS INTERVAL 2 MINUTES, k BIGINT, x BIGINT) WITH ('history' = 'none');
"""
_WINDOWS = """SELECT window_start, window_end, k, count(*) AS n, sum(x) AS s
FROM TABLE(TUMBLE(TABLE t, DESCRIPTOR(at), INTERVAL 1 MINUTE)) GROUP BY window_start, window_end, k"""
_KEYED = "CREATE TABLE t (k BIGINT, x BIGINT) WITH ('history' = 'none');\n"
_SUMS = "SELECT k, sum(x) AS s, count(*) AS n FROM t GROUP BY k"
_POLICIES = (
    "CHANGES", "ON UPDATE", "STREAM", "PERIODIC 1s", "PERIODIC 2s REPEAT", "PERIODIC 5s ON UPDATE", "AFTER DELAY 3s",
    "PERIODIC 4s", "STREAM AFTER DELAY 5s", "PERIODIC 10s",
)  # fmt: skip
_EVENTS = "CREATE STREAM t (k int64, x int64) SETTINGS history = 'none';\n"
_BEGIN = datetime(2024, 1, 1)  # noqa: DTZ001 - naive UTC
_NUMBERS = np.random.default_rng(7)
_PRICE, _TEN, _FLAT, _LATENCY = 1.2, 2.0, 1.1, 0.3
_ROWS, _KEYS = 1000, 100
PRINTED = "Flink SQL, the same query: from a row to its print"


def figure(spark: SparkSession, *, effort: Effort) -> Figure:
    """What a policy costs beside the view, how much ten of them cost, what stays, and the latency of PER EVENT."""
    runs = effort.runs(Runs(5, 30), quick=Runs(0, 2))
    keys = 10_000 if effort.quick else 1_000_000
    lines = [
        *_windows(runs),
        *_changes(runs, keys),
        *_ten(runs),
        *_kept(10 if effort.quick else 30),
        *_events(spark, effort.runs(Runs(20, 200), quick=Runs(1, 5)), beside=not effort.quick),
    ]
    collected(spark)
    notes = (
        "Queries are read after each step; a view's change is in hand as Arrow. What is compared runs in turn.",
        "Flink's rows are 20 a second, handed on without a buffer timeout; `make flink` makes its environment.",
    )
    return Figure("k", "Queries that stand", lines, runs, ("native",), notes)


class _Standing:
    """A program in the process with queries that stand in it, fed by steps whose clock goes on by a second each."""

    def __init__(self, text: str, queries: Sequence[str] = (), dialect: str = "penstock") -> None:
        self.pipeline = penstock.Pipeline(text, engine="native", retain="materialized", dialect=dialect)
        self.queries = [self.pipeline.subscribe(query, clock=_BEGIN) for query in queries]
        self._seconds = count(1)

    def step(self, given: pa.Table | Sequence[tuple[int, int]], view: str | None = None) -> int:
        """One step with all that it shows; the number of rows that are shown."""
        clock = _BEGIN + timedelta(seconds=next(self._seconds))
        changes = self.pipeline.step({"t": given}, clock=clock)
        if view is not None:
            return int(changes[view].arrow().num_rows)
        return sum(_taken(query) for query in self.queries)

    def kept(self) -> int:
        """The rows that its operators keep and that can still be touched."""
        self.pipeline.compact()
        return sum(item.rows for item in self.pipeline.state())


def _taken(query: penstock.StandingQuery) -> int:
    found = 0
    while (emission := query.get(0)) is not None:
        found += len(emission)
    return found


@contextmanager
def _running(*programs: _Standing) -> Iterator[None]:
    try:
        yield
    finally:
        for program in programs:
            program.pipeline.close()


def _minutes() -> Iterator[pa.Table]:
    """Rows of one minute after the other, in order."""
    for minute in count():
        seconds = np.sort(_NUMBERS.integers(0, 60_000_000, _ROWS)).astype("timedelta64[us]")
        first = np.datetime64(_BEGIN + timedelta(minutes=minute), "us")
        yield pa.table(
            {
                "at": pa.array(first + seconds, pa.timestamp("us")),
                "k": _NUMBERS.integers(0, _KEYS, _ROWS),
                "x": _NUMBERS.integers(0, 1000, _ROWS),
            }
        )


def _priced(what: str, costs: dict[str, Cost], bound: float, unit: str) -> list[Line]:
    """The first cost, and the second one in units of it."""
    base, other = costs
    ratio = costs[other].over(costs[base]).wall
    bar = Bar(f"≤ {bound:g} × {unit}", ratio <= bound)
    return [
        Line(f"{what}, {base}", (shown(costs[base]),)),
        Line(f"{what}, {other}", (shown(costs[other], costs[base], unit),), (bar,)),
    ]


def _windows(runs: Runs) -> list[Line]:
    """A windowed aggregate as a view, and as a query that shows each window when it closes."""
    view = _Standing(f"{_MINUTES}CREATE VIEW v AS {_WINDOWS};")
    query = _Standing(_MINUTES, [f"{_WINDOWS} EMIT AFTER WATERMARK"])
    ours, theirs = _minutes(), _minutes()
    with _running(view, query):
        work: dict[str, Callable[[], object]] = {
            "a view": lambda: view.step(next(ours), "v"),
            "EMIT AFTER WATERMARK": lambda: query.step(next(theirs)),
        }
        costs = Meter().interleaved(work, runs)
    return _priced("a minute of a windowed aggregate", costs, _PRICE, "the view")


def _changes(runs: Runs, keys: int) -> list[Line]:
    """A keyed aggregate as a view, and as a query that shows each change."""
    view = _Standing(f"{_KEYED}CREATE VIEW v AS {_SUMS};")
    query = _Standing(_KEYED, [f"{_SUMS} EMIT CHANGES"])
    filled = pa.table({"k": np.arange(keys), "x": np.arange(keys) % 1000})
    with _running(view, query):
        view.step(filled, "v")
        query.step(filled)
        work: dict[str, Callable[[], object]] = {
            "a view": lambda: view.step(rows(10_000, keys), "v"),
            "EMIT CHANGES": lambda: query.step(rows(10_000, keys)),
        }
        costs = Meter().interleaved(work, runs)
    return _priced(f"10,000 rows on {keys:,} keys", costs, _PRICE, "the view")


def _ten(runs: Runs) -> list[Line]:
    """One query over a view, and ten with different policies."""
    text = f"{_KEYED}CREATE MATERIALIZED VIEW v AS {_SUMS};"
    one = _Standing(text, ["SELECT * FROM v EMIT CHANGES"])
    ten = _Standing(text, [f"SELECT * FROM v EMIT {policy}" for policy in _POLICIES])
    with _running(one, ten):
        for program in (one, ten):
            program.step(rows(100_000, 10_000))
        work: dict[str, Callable[[], object]] = {
            "one query": lambda: one.step(rows(1000, 10_000)),
            "ten queries": lambda: ten.step(rows(1000, 10_000)),
        }
        costs = Meter().interleaved(work, runs)
    return _priced("1,000 rows, a view and", costs, _TEN, "one query")


def _kept(first: int) -> list[Line]:
    """The live rows of state after so many windows, and after a hundred times as many."""
    program = _Standing(_MINUTES, [f"{_WINDOWS} EMIT AFTER WATERMARK"])
    given, found = _minutes(), []
    with _running(program):
        for more in (first, first * 99):
            for _ in range(more):
                program.step(next(given))
            found.append(program.kept())
    ratio = found[1] / found[0]
    bar = Bar(f"≤ {_FLAT:g} × the first", ratio <= _FLAT)
    said = f"{found[0]:,} and {found[1]:,} = {ratio:.2f} ×"
    return [Line(f"live rows of state after {first} windows, and 100 × as many", (said,), (bar,))]


def _events(spark: SparkSession, runs: Runs, *, beside: bool) -> list[Line]:
    """The time from handing over a row to its showing, `beside` a bare query of Spark and Flink SQL to `print`."""
    program = _Standing(_EVENTS, ["select k, count(), sum(x) from t group by k emit per event"], "timeplus")
    unit, found, spent = bare(spark), [], []
    with _running(program):
        for turn in range(runs.warm + runs.measured):
            for work, times in ((lambda turn=turn: program.step([(turn % 10, turn)]), found), (unit, spent)):
                began = time.perf_counter()
                work()
                if turn >= runs.warm:
                    times.append((time.perf_counter() - began) * 1000)
    middle, action = statistics.median(found), statistics.median(spent)
    bar = Bar(f"≤ {_LATENCY:g} × bare", middle <= _LATENCY * action)
    said = f"{_at_worst(found)}, p50 = {middle / action:.2f} × bare"
    return [
        Line("bare: one grouped query of Spark over 10 rows", (milliseconds(action),)),
        Line("EMIT PER EVENT: from a row to its result", (said,), (bar,)),
        Line(PRINTED, (_on_flink(runs) if beside else "not asked",)),
    ]


def _on_flink(runs: Runs) -> str:
    try:
        return _at_worst(flink.latencies(runs.warm, runs.measured))
    except UnavailableError as error:
        return f"not run: {error}"


def _at_worst(times: Sequence[float]) -> str:
    """The time within which half of them are, and that within which 99 of 100 are."""
    late = sorted(times)[int(len(times) * 0.99)]
    return f"p50 {milliseconds(statistics.median(times))}, p99 {milliseconds(late)}"
