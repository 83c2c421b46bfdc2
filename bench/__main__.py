"""python -m bench [--quick] [--runs N] [--figures abcdefgh] [--page FILE]: measure, print, renew the page."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

from bench import compiling, floor, largestate, manysteps, manyviews, starting, throughput, time_bounds
from bench.measure import Effort
from bench.report import PAGE, Figure, machine, renewed

_SPARK_FIGURES = {
    "a": floor.figure,
    "b": throughput.figure,
    "c": largestate.figure,
    "d": manysteps.figure,
    "e": manyviews.figure,
    "g": time_bounds.figure,
}
_WITHOUT_SPARK = {"f": compiling.figure, "h": starting.figure}
_ALL = "abcdefgh"
_INTRODUCTION = """# Performance

Written by `make bench`; `make bench ARGS='--figures ae'` renews some and leaves the others. What is compared was
run in turn in one process; only the ratios mean something on another machine. *Bare* is the smallest useful query of
Spark: `createDataFrame` of 10 rows of Arrow, `groupBy(k).agg(sum, count).toArrow()`, in the same session with the same
settings. A step's time includes checking the rows, the log, and the view's change in hand. *CPU* is the same ratio in
CPU time of driver and JVM, which other programs on the machine disturb less.

Whole queries beside Flink SQL, Structured Streaming, Spark's batch and DuckDB are in
[performance-nexmark.md](performance-nexmark.md); long runs, and steps of every size, in
[performance-growth.md](performance-growth.md).
"""


def main() -> None:
    """Measure the figures asked for."""
    parser = argparse.ArgumentParser(prog="bench", description="What Penstock costs, measured.")
    parser.add_argument("--quick", action="store_true", help="few runs over little data: only to see that it works")
    parser.add_argument("--runs", type=int, metavar="N", help="at most so many runs to warm up, and to measure")
    parser.add_argument("--figures", default=_ALL, help="which of a to h (all)")
    parser.add_argument("--page", type=Path, help="write the figures here (docs/performance.md, if not --quick)")
    given = parser.parse_args()
    where = machine()
    print(where, flush=True)
    page = given.page or (None if given.quick else PAGE)
    for figure in _figures(given.figures, effort=Effort(given.quick, given.runs)):
        print("\n" + figure.text(), flush=True)
        if page is not None:
            page.write_text(renewed(page.read_text() if page.exists() else "", _INTRODUCTION, figure, where))
            print(f"written: {page}", file=sys.stderr)


def _figures(letters: str, *, effort: Effort) -> Iterator[Figure]:
    spark = None
    for letter in letters:
        if letter in _WITHOUT_SPARK:
            yield _WITHOUT_SPARK[letter](effort=effort)
            continue
        if spark is None:
            from penstock.backends.spark.session import open_session

            spark = open_session(master="local[2]", conf={"spark.driver.memory": "4g"}, app_name="penstock bench")
        yield _SPARK_FIGURES[letter](spark, effort=effort)
    if spark is not None:
        spark.stop()


if __name__ == "__main__":
    main()
