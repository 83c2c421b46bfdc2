"""The time of a pipeline's steps while a change of program fills new views beside them, against steps before it.

python -m bench.deploying --rows 1000000

A pipeline of 20 views follows a source that always has rows. Then a view of it changes, and another one is new. The
time between two steps is what who waits for an answer sees: it has the pieces that fill views in between.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc

import penstock
from bench.measure import Effort
from bench.report import Bar, Figure, Line
from penstock.pipeline.run import RunOptions
from penstock.steps.events import Event, StepDone

VIEWS = 20
_MOST = 1.5  # times what a step takes otherwise
TABLE = """
CREATE TABLE orders (id BIGINT, customer BIGINT, amount BIGINT) WITH ('connector' = 'datagen',
  'rows-per-second' = '1000000', 'fields.id.kind' = 'sequence', 'fields.id.start' = '1',
  'fields.customer.min' = '1', 'fields.customer.max' = '60000', 'fields.amount.min' = '1',
  'fields.amount.max' = '999');
"""
VIEW = """
CREATE VIEW totals_{number} AS
  SELECT customer % {groups} AS part, SUM(amount) AS s, COUNT(*) AS n FROM orders WHERE amount > {least}
  GROUP BY customer % {groups};
"""
ADDED = "CREATE VIEW largest AS SELECT customer, MAX(amount) AS m FROM orders GROUP BY customer;"


def program(changed: int = 0) -> str:
    """The program; with the first view changed, and another one added, if so many rows are left out by it."""
    views = [VIEW.format(number=number, groups=100 + number, least=number) for number in range(1, VIEWS)]
    first = VIEW.format(number=0, groups=100, least=changed)
    return "".join([TABLE, first, *views, ADDED if changed else ""])


def rows(count: int) -> pa.Table:
    """Rows as they were there before."""
    ids = pa.array(range(count), pa.int64())
    customers = pc.bit_wise_and(pc.multiply(ids, 7919), (1 << 16) - 1)
    return pa.table({"id": ids, "customer": customers, "amount": pc.bit_wise_and(ids, 511)})


@dataclass
class Steps:
    """The steps as they end: the seconds that each has taken, and those since the one before it, on the clock and CPU.

    On a shared machine ratios of CPU time are steadier.
    """

    own: list[float] = field(default_factory=list)
    apart: list[float] = field(default_factory=list)
    worked: list[float] = field(default_factory=list)
    last: float = 0.0
    last_worked: float = 0.0

    def note(self, event: Event) -> None:
        """Note what happens."""
        if isinstance(event, StepDone):
            at, worked = time.perf_counter(), time.process_time()
            self.own.append(event.seconds)
            self.apart.append(at - self.last)
            self.worked.append(worked - self.last_worked)
            self.last, self.last_worked = at, worked

    def wait(self, count: int) -> None:
        """Wait until so many have been noted."""
        while len(self.own) < count:
            time.sleep(0.01)


def milliseconds(found: list[float]) -> str:
    """The middle one and the largest."""
    return f"p50 {statistics.median(found) * 1e3:7.1f} ms  most {max(found) * 1e3:7.1f} ms"


def at_once(total: int) -> float:
    """The seconds that the same change takes where nobody goes on."""
    with penstock.Pipeline(program(), engine="native", retain="materialized") as pipeline:
        pipeline.step({"orders": rows(total)})
        began = time.perf_counter()
        pipeline.deploy(program(5))
        return time.perf_counter() - began


@dataclass(frozen=True)
class Deployed:
    """The steps before a change of program and meanwhile, the seconds until it was at work, and those of its step."""

    steps: Steps
    first: int
    second: int
    last: int
    seconds: float

    def lines(self) -> Iterator[tuple[str, list[float], list[float]]]:
        """What was measured, before and meanwhile."""
        found = self.steps
        for name, of in (("a step", found.own), ("from step to step", found.apart), ("the same, CPU", found.worked)):
            yield name, of[self.first : self.second], of[self.second : self.last - 1]


def measured(total: int, size: int, before: int) -> Deployed:
    """One pipeline with so many rows, whose program changes after so many steps of a size."""
    steps = Steps()
    given = RunOptions(first_rows=size, least_rows=size, most_rows=size)
    with penstock.Pipeline(program(), engine="native", retain="materialized", on_event=steps.note) as pipeline:
        pipeline.step({"orders": rows(total)})
        pipeline.start(options=given)
        steps.wait(5)
        first = len(steps.own)
        steps.wait(first + before)
        second, began = len(steps.own), time.perf_counter()
        pipeline.deploy(program(5))
        seconds, last = time.perf_counter() - began, len(steps.own)
        pipeline.stop()
    return Deployed(steps, first, second, last, seconds)


def figure(effort: Effort) -> Figure:
    """The steps of a pipeline of 20 views while one of them changes and another one comes."""
    total, before = (200_000, 20) if effort.quick else (1_000_000, 100)
    found = measured(total, 100, before)
    lines = []
    for name, earlier, meanwhile in found.lines():
        ratio = statistics.median(meanwhile) / statistics.median(earlier) if meanwhile else 0.0
        bars = (Bar(f"≤ {_MOST} × ({ratio:.2f})", ratio <= _MOST),) if name == "a step" else ()
        lines.append(Line(name, (milliseconds(earlier), milliseconds(meanwhile or [0.0])), bars))
    lines.append(Line("the step of the change", ("", f"{found.steps.own[found.last - 1]:.2f} s")))
    lines.append(Line("the same change where nobody goes on", ("", f"{at_once(total):.2f} s")))
    note = (
        f"{VIEWS} views over {total:,} rows, and 100 more in each step: one view changes, and another is new. They "
        f"were filled in {found.seconds:.1f} s, {found.last - found.second} steps meanwhile."
    )
    return Figure("q", "A program that changes", lines, heads=("before", "meanwhile"), notes=(note,))


def main() -> None:
    """Print the figures for one size of table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--step", type=int, default=100, help="rows of a step")
    parser.add_argument("--steps", type=int, default=100, help="steps before the change")
    options = parser.parse_args()
    found = measured(options.rows, options.step, options.steps)
    for name, before, meanwhile in found.lines():
        ratio = statistics.median(meanwhile) / statistics.median(before)
        print(f"{name:18}  before {milliseconds(before)}  meanwhile {milliseconds(meanwhile)}  ratio {ratio:.2f}")
    print(f"{options.rows:,} rows filled in {found.seconds:.1f} s, {found.last - found.second} steps meanwhile")
    own = found.steps.own[found.last - 1]
    print(f"the step of the change {own:.2f} s; all in one step {at_once(options.rows):.2f} s")


if __name__ == "__main__":
    main()
