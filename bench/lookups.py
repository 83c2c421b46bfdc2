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
from penstock.backends.thresholds import PASSES_BEFORE_INDEX

PROGRAM = """
CREATE TABLE sales (id {kind}, amount BIGINT) WITH ('history' = 'none');
CREATE MATERIALIZED VIEW totals AS SELECT id, SUM(amount) AS total, COUNT(*) AS n FROM sales GROUP BY id;
"""
PIECE, SMALL = 1_000_000, 10_000


def rows_of(ids: np.ndarray, kind: str) -> pa.Table:
    """Sales of some ids."""
    return pa.table({"id": [f"user number {at}" for at in ids] if kind == "STRING" else ids, "amount": ids % 1000})


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


def one_lookup(rows: int, times: int) -> Cost:
    """What a look-up of one key costs in a view of so many rows, once its index is made."""
    some = np.random.default_rng(1)
    ids = some.permutation(rows).astype("int64")
    with penstock.Pipeline(PROGRAM.format(kind="BIGINT"), engine="native", retain="materialized") as p:
        for at in range(0, rows, PIECE):
            p.step({"sales": rows_of(ids[at : at + PIECE], "BIGINT")})
        for _ in range(PASSES_BEFORE_INDEX + 1):
            p.lookup("totals", 0)
        return milliseconds(lambda: p.lookup("totals", int(some.integers(rows))).rows, times)


def main() -> None:
    """Fill a view, and look up."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--lookups", type=int, default=200)
    parser.add_argument("--kind", choices=("BIGINT", "STRING"), default="BIGINT")
    given = parser.parse_args()
    some = np.random.default_rng(1)
    ids = some.permutation(given.rows).astype("int64")

    with penstock.Pipeline(PROGRAM.format(kind=given.kind), engine="native", retain="materialized") as p:
        for at in range(0, given.rows, PIECE):
            p.step({"sales": rows_of(ids[at : at + PIECE], given.kind)})

        def small() -> None:
            p.step({"sales": rows_of(some.choice(ids, SMALL), given.kind)})

        def key() -> int | str:
            number = int(some.integers(given.rows))
            return f"user number {number}" if given.kind == "STRING" else number

        without = milliseconds(small, 10)
        by_pass = milliseconds(lambda: p.lookup("totals", key()).rows, PASSES_BEFORE_INDEX)
        making = milliseconds(lambda: p.lookup("totals", key()), 1)
        one = milliseconds(lambda: p.lookup("totals", key()).rows, given.lookups)
        ten = milliseconds(lambda: p.lookup("totals", [key() for _ in range(10)]).rows, given.lookups // 10)
        asked = milliseconds(lambda: p.query(f"SELECT * FROM totals WHERE id = {key()!r}").rows, 5)
        steps = milliseconds(small, 10)
    print(f"{given.rows:,} rows; a look-up before there is an index {by_pass.shown}, making it {making.shown}")
    print(f"a look-up {one.shown}, of ten keys {ten.shown}")
    print(f"the same as a query {asked.shown} = {asked / one:.0f} times")
    print(f"a step of {SMALL:,} rows {without.shown}, with the index {steps.shown} = {steps / without:.2f} times")


if __name__ == "__main__":
    main()
