"""python -m bench [--quick] [--runs N] [--figures abcdefghijklmnopq] [--page FILE]: measure, print, renew the page."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

from bench import (
    aday,
    compiling,
    deploying,
    floor,
    largestate,
    loads,
    manysteps,
    manyviews,
    recovery,
    standing,
    starting,
    stopping,
    throughput,
    time_bounds,
    timelines,
)
from bench.decisions import figure as decisions
from bench.measure import Effort, jvm_memory
from bench.nexmark.task import UnavailableError
from bench.report import PAGE, Figure, machine, renewed
from bench.topics import figure as topics
from bench.ways import ENGINES

ON_SPARK = {
    "a": floor.figure,
    "b": throughput.figure,
    "c": largestate.figure,
    "d": manysteps.figure,
    "e": manyviews.figure,
    "g": time_bounds.figure,
    "i": decisions.figure,
    "j": loads.figure,
    "k": standing.figure,
    "l": timelines.figure,
}
WITHOUT_SPARK = {
    "f": compiling.figure,
    "h": starting.figure,
    "m": stopping.figure,
    "n": topics.figure,
    "o": aday.figure,
    "p": recovery.figure,
    "q": deploying.figure,
}
_ALL = "abcdefghijklmnopq"
_SCALE, _QUICK_SCALE = 1.0, 0.01
_INTRODUCTION = """# Performance

Written by `make bench`; `make bench ARGS='--figures ae'` renews some and leaves the others. A column is an engine
([where operators work](reference/engines.md)): *native*, in the process, or *spark*; tables keep no history, or a
directory keeps everything. Both engines' changes are compared before anything is timed. What is compared was run in
turn in one process; only the ratios mean something on another machine. A bar is a ratio (in h it is seconds), and each
engine has its own: in a and e *native* is measured by *grouped*, and *spark* by *bare*.
Sections with the columns *history none* and *with a directory* are older, and of Spark alone.

*Bare* is the smallest useful query of Spark: `createDataFrame` of 10 rows of Arrow, `groupBy(k).agg(sum,
count).toArrow()`, in the same session with the same settings. *Grouped* is the same query of DuckDB, over 10 rows of
Arrow. A step's time includes checking the rows, the log, and the view's change in hand. *CPU* is the same ratio in CPU
time of driver and JVM, which other programs on the machine disturb less.

| figure | what is measured |
| --- | --- |
| a | the floor: a step of ten rows through one keyed aggregate, and through five chained ones |
| b | throughput: a million rows a step over a million keys, beside Spark's batch GROUP BY and Flink |
| c | small changes against 5 M rows of state, and against 500,000 |
| d | many steps: whether a step or what is held grows with the number of steps |
| e | many views: each further view that a step touches, and a step that touches one of twenty |
| f | checking and explaining programs of 1 to 200 views |
| g | time: steps and state under LATENESS stay as they are |
| h | starting: commands from a cold start, the shell to its prompt and its first answer |
| i | decision support: 22 views, a step that replaces one fact in a hundred, beside computing all anew |
| j | loads: rows of pandas, Arrow, Spark and Python into a keyed table with three views, beside DuckDB |
| k | queries that stand: EMIT beside the view, ten policies on one view, what stays, the latency of PER EVENT |
| l | streams and tables: SELECT STREAM and MATCH_RECOGNIZE beside Flink, versions, answers from summaries, look-ups |
| m | Ctrl-C: from the signal to the end of a statement that works in the process |
| n | topics: from Kafka through windows into Kafka, beside Flink and Structured Streaming; how late results are |
| o | a day of event time at speed: steps, memory, state and files stay as they are |
| p | going on from a directory: from the state, and from the log alone |
| q | a program that changes: the steps of the others meanwhile |
| [NEXMark](performance-nexmark.md) | whole queries beside Flink SQL, Structured Streaming, Spark's batch and DuckDB |
| [growth](performance-growth.md) | NEXMark in long runs with large state, and in steps of 10 to 1 M events |
"""


def main() -> None:
    """Measure the figures asked for."""
    parser = argparse.ArgumentParser(prog="bench", description="What Penstock costs, measured.")
    parser.add_argument("--quick", action="store_true", help="few runs over little data: only to see that it works")
    parser.add_argument("--runs", type=int, metavar="N", help="at most so many runs to warm up, and to measure")
    parser.add_argument("--figures", default=_ALL, help="which of a to q (all)")
    parser.add_argument("--scale", type=float, metavar="FACTOR", help="of the tables of figure i (1, quick 0.01)")
    parser.add_argument("--without", choices=ENGINES, action="append", help="leave an engine out of figure i")
    parser.add_argument("--page", type=Path, help="write the figures here (docs/performance.md, if not --quick)")
    given = parser.parse_args()
    where = machine()
    print(where, flush=True)
    page = given.page or (None if given.quick else PAGE)
    scale = given.scale or (_QUICK_SCALE if given.quick else _SCALE)
    for figure in _figures(given.figures, effort=Effort(given.quick, given.runs, scale, tuple(given.without or ()))):
        print("\n" + figure.text(), flush=True)
        if page is not None:
            page.write_text(renewed(page.read_text() if page.exists() else "", _INTRODUCTION, figure, where))
            print(f"written: {page}", file=sys.stderr)


def _figures(letters: str, *, effort: Effort) -> Iterator[Figure]:
    spark = None
    for letter in letters:
        if letter in ON_SPARK and spark is None:
            from penstock.backends.spark.session import open_session

            conf = {"spark.driver.memory": jvm_memory()}
            spark = open_session(master="local[2]", conf=conf, app_name="penstock bench")
        try:
            if letter in WITHOUT_SPARK:
                yield WITHOUT_SPARK[letter](effort=effort)
            else:
                yield ON_SPARK[letter](spark, effort=effort)
        except UnavailableError as error:
            print(f"{letter} is left out: {error}", file=sys.stderr)
    if spark is not None:
        spark.stop()


if __name__ == "__main__":
    main()
