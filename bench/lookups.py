"""A look-up by key in a maintained view: `python -m bench.lookups --rows 10000000`.

It is measured beside the same question as a query, and a step of ten thousand rows with and without the index. Only the
ratios mean something on another machine.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

import penstock

PROGRAM = """
CREATE TABLE sales (id BIGINT, amount BIGINT) WITH ('history' = 'none');
CREATE MATERIALIZED VIEW totals AS SELECT id, SUM(amount) AS total, COUNT(*) AS n FROM sales GROUP BY id;
"""
PIECE, SMALL = 1_000_000, 10_000


def rows_of(ids: np.ndarray) -> pa.Table:
    """Sales of some ids."""
    return pa.table({"id": ids, "amount": ids % 1000})


@dataclass(frozen=True)
class Cost:
    """Milliseconds of a clock and of CPU, medians; on a machine that others use as well, the second is the steadier."""

    clock: float
    cpu: float

    @property
    def shown(self) -> str:
        """Both, for people."""
        return f"{self.clock:.2f} ms (CPU {self.cpu:.2f})"

    def __truediv__(self, other: Cost) -> float:
        return self.cpu / other.cpu


def milliseconds(work: Callable[[], object], times: int) -> Cost:
    """The medians of several runs."""
    found = []
    for _ in range(times):
        begun = time.perf_counter(), time.process_time()
        work()
        found.append((time.perf_counter() - begun[0], time.process_time() - begun[1]))
    return Cost(*(statistics.median(one) * 1000 for one in zip(*found, strict=True)))


def main() -> None:
    """Fill a view, and look up."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--lookups", type=int, default=200)
    given = parser.parse_args()
    some = np.random.default_rng(1)
    ids = some.permutation(given.rows).astype("int64")

    with penstock.Pipeline(PROGRAM, engine="native", retain="materialized") as p:
        for at in range(0, given.rows, PIECE):
            p.step({"sales": rows_of(ids[at : at + PIECE])})

        def small() -> None:
            p.step({"sales": rows_of(some.choice(ids, SMALL))})

        def key() -> int:
            return int(some.integers(given.rows))

        without = milliseconds(small, 10)
        begun = time.perf_counter()
        p.lookup("totals", key())
        first = time.perf_counter() - begun
        one = milliseconds(lambda: p.lookup("totals", key()).rows, given.lookups)
        ten = milliseconds(lambda: p.lookup("totals", [key() for _ in range(10)]).rows, given.lookups // 10)
        asked = milliseconds(lambda: p.query(f"SELECT * FROM totals WHERE id = {key()}").rows, 5)
        steps = milliseconds(small, 10)
    print(f"{given.rows:,} rows; the first look-up, which makes the index: {first:.1f} s")
    print(f"a look-up {one.shown}, of ten keys {ten.shown}")
    print(f"the same as a query {asked.shown} = {asked / one:.0f} times")
    print(f"a step of {SMALL:,} rows {without.shown}, with the index {steps.shown} = {steps / without:.2f} times")


if __name__ == "__main__":
    main()
