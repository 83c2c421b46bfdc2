"""Seconds that a pipeline takes to go on from its directory: from its state, and by making its log again.

python -m bench.recovery --rows 1000000 --engine spark

With Spark the session is there already, and the time for starting a JVM is in none of the figures.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

import penstock
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


def main() -> None:
    """Print the figures for one size of state."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--step", type=int, default=50_000)
    parser.add_argument("--engine", choices=ENGINES, default=NATIVE)
    options = parser.parse_args()
    started(options.engine)
    with tempfile.TemporaryDirectory() as folder:
        directory = Path(folder)
        made, written = fill(directory, options.engine, options.rows, options.step)
        state, log = (opened(directory, options.engine, rebuild=rebuild) for rebuild in (False, True))
    print(f"rows {options.rows:,}  made in {made:.1f} s  written in {written:.2f} s at the end")
    print(f"going on from state {state:.2f} s  from log {log:.2f} s")
    print(f"from state: {log / state:.1f} times as quick as from the log")


if __name__ == "__main__":
    main()
