"""Seconds that a pipeline takes to go on from its directory: from its state, and by making its log again.

python -m bench.recovery --rows 1000000
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

import penstock

PROGRAM = """
CREATE TABLE orders (id BIGINT PRIMARY KEY, customer BIGINT, amount BIGINT);
CREATE VIEW totals AS SELECT customer, SUM(amount) AS s, COUNT(*) AS n FROM orders GROUP BY customer;
"""


def rows(start: int, count: int) -> pa.Table:
    """Rows with keys of their own, one customer for each."""
    ids = pa.array(range(start, start + count), pa.int64())
    return pa.table({"id": ids, "customer": ids, "amount": pc.multiply(ids, 3)})


def fill(directory: Path, total: int, step: int) -> float:
    """Make the pipeline; the seconds that its steps took."""
    began = time.perf_counter()
    with penstock.Pipeline(PROGRAM, directory=directory, engine="native", retain="materialized") as pipeline:
        for start in range(0, total, step):
            pipeline.step({"orders": rows(start, min(step, total - start))})
    return time.perf_counter() - began


def opened(directory: Path, *, rebuild: bool) -> float:
    """The seconds until a pipeline has gone on by one small step."""
    began = time.perf_counter()
    pipeline = penstock.Pipeline(PROGRAM, directory=directory, engine="native", retain="materialized", rebuild=rebuild)
    pipeline.step({"orders": [(1, 1, 1)]})
    seconds = time.perf_counter() - began
    pipeline.close()
    return seconds


def main() -> None:
    """Print the figures for one size of state."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--step", type=int, default=50_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        first = fill(Path(folder), options.rows, options.step)
        state, log = opened(Path(folder), rebuild=False), opened(Path(folder), rebuild=True)
    print(f"rows {options.rows:,}  made in {first:.1f} s  from state {state:.2f} s  from log {log:.2f} s")
    print(f"from state: {log / state:.1f} times as quick as from the log")


if __name__ == "__main__":
    main()
