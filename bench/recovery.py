"""Seconds that a pipeline takes to go on from its directory: from its state, and by making its log again.

python -m bench.recovery --rows 1000000 --engine spark

With Spark the session is there already, and the time for starting a JVM is in none of the figures.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

import penstock
from bench.measure import Effort
from bench.report import Figure, Line
from penstock.backends.spark.session import open_session
from penstock.catalog.settings import ENGINES, NATIVE

PROGRAM = """
CREATE TABLE orders (id BIGINT PRIMARY KEY, customer BIGINT, amount BIGINT);
CREATE VIEW totals AS SELECT customer, SUM(amount) AS s, COUNT(*) AS n FROM orders GROUP BY customer;
"""


def rows(start: int, count: int) -> pa.Table:
    """Rows with keys of their own, one customer for each."""
    ids = pa.array(range(start, start + count), pa.int64())
    return pa.table({"id": ids, "customer": ids, "amount": pc.multiply(ids, 3)})


def pipeline_in(directory: Path, engine: str, *, rebuild: bool = False) -> penstock.Pipeline:
    """The pipeline of a directory."""
    return penstock.Pipeline(PROGRAM, directory=directory, engine=engine, retain="materialized", rebuild=rebuild)


def fill(directory: Path, engine: str, total: int, step: int) -> tuple[float, float]:
    """Make the pipeline; the seconds that its steps took, and those that writing its state took at the end."""
    began = time.perf_counter()
    pipeline = pipeline_in(directory, engine)
    for start in range(0, total, step):
        pipeline.step({"orders": rows(start, min(step, total - start))})
    ended = time.perf_counter()
    pipeline.close()
    return ended - began, time.perf_counter() - ended


def opened(directory: Path, engine: str, *, rebuild: bool) -> float:
    """The seconds until a pipeline has gone on by one small step."""
    began = time.perf_counter()
    pipeline = pipeline_in(directory, engine, rebuild=rebuild)
    pipeline.step({"orders": [(1, 1, 1)]})
    seconds = time.perf_counter() - began
    pipeline.close()
    return seconds


def started(engine: str) -> None:
    """Have Spark at work, if it is to be."""
    if engine != NATIVE:
        session = open_session()
        session.range(1000).groupBy("id").count().collect()


@dataclass(frozen=True)
class Going:
    """The seconds that one size of state takes: steps until it is there, writing it, going on from it, and its log."""

    made: float
    written: float
    state: float
    log: float


def measured(total: int, step: int, engine: str) -> Going:
    """One pipeline, made, closed, and gone on with."""
    with tempfile.TemporaryDirectory() as folder:
        directory = Path(folder)
        made, written = fill(directory, engine, total, step)
        state, log = (opened(directory, engine, rebuild=rebuild) for rebuild in (False, True))
    return Going(made, written, state, log)


def figure(effort: Effort) -> Figure:
    """Going on with a million rows of state, and with ten million."""
    small, large = (5_000, 20_000) if effort.quick else (1_000_000, 10_000_000)
    found = {(size, NATIVE): measured(size, max(1, size // 20), NATIVE) for size in (small, large)}
    started("spark")
    found[small, "spark"] = measured(small, max(1, small // 20), "spark")
    columns = [(small, NATIVE), (large, NATIVE), (small, "spark")]
    heads = tuple(f"{size:,} rows, {engine}" for size, engine in columns)

    def line(what: str, seconds: Callable[[Going], float]) -> Line:
        return Line(what, tuple(f"{seconds(found[at]):.2f} s" for at in columns))

    lines = [
        line("its twenty steps", lambda item: item.made),
        line("writing the state when it is closed", lambda item: item.written),
        line("going on from the state, with one small step", lambda item: item.state),
        line("going on from the log alone (--rebuild), with one small step", lambda item: item.log),
    ]
    note = "A table with a key and a sum for each of its rows. Spark's session is there already."
    return Figure("p", "Going on from a directory", lines, heads=heads, notes=(note,))


def main() -> None:
    """Print the figures for one size of state."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--step", type=int, default=50_000)
    parser.add_argument("--engine", choices=ENGINES, default=NATIVE)
    options = parser.parse_args()
    started(options.engine)
    found = measured(options.rows, options.step, options.engine)
    print(f"rows {options.rows:,}  made in {found.made:.1f} s  written in {found.written:.2f} s at the end")
    print(f"going on from state {found.state:.2f} s  from log {found.log:.2f} s")
    print(f"from state: {found.log / found.state:.1f} times as quick as from the log")


if __name__ == "__main__":
    main()
