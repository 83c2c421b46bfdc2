"""m: Ctrl-C in a statement that works in the process: the time from the signal to the error that comes out of it."""

from __future__ import annotations

import os
import signal
import statistics
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import penstock
from bench.measure import Effort, Runs
from bench.report import Bar, Figure, Line, milliseconds

_PROGRAM = """CREATE TABLE t (a BIGINT, b BIGINT); CREATE TABLE l (k INT, x BIGINT); CREATE TABLE r (k INT, x BIGINT);
CREATE VIEW met AS SELECT count(*) AS n, sum(l.x * r.x % 7) AS s FROM l JOIN r ON l.k = r.k;
"""
_MEETING = "FROM t AS one CROSS JOIN t AS two CROSS JOIN t AS three"
_MANY = [(1, number) for number in range(100_000)]
_WORKS_SECONDS = 0.3  # for so long it has been at work when the signal comes
_BOUND = 100

Work = Callable[[penstock.Pipeline], object]
_STATEMENTS: dict[str, Work] = {
    "a query: a table met with itself twice": lambda p: p.query(
        f"SELECT count(*) {_MEETING} WHERE one.b + two.b = three.b"
    ),
    "a query: the same, and all of its rows": lambda p: p.query(f"SELECT one.a, two.a, three.a {_MEETING}"),
    "a query: sorting ten thousand million rows": lambda p: p.query(
        "SELECT max(n) FROM (SELECT row_number() OVER (PARTITION BY one.b ORDER BY two.b % 1000) AS n "
        "FROM t AS one CROSS JOIN t AS two)"
    ),
    "INSERT … SELECT": lambda p: p.execute(
        f"INSERT INTO t SELECT one.a, two.b {_MEETING} WHERE one.b + two.b = three.b"
    ),
    "UPDATE": lambda p: p.execute(f"UPDATE t SET b = (SELECT count(*) {_MEETING})"),
    "a step: joining 100,000 rows of one key with 100,000": lambda p: p.step({"l": _MANY, "r": _MANY}),
}


def figure(*, effort: Effort) -> Figure:
    """For each statement the median and the longest time."""
    runs = effort.runs(Runs(1, 15), quick=Runs(0, 1))
    with penstock.Pipeline(_PROGRAM, engine="native") as pipeline, _raising():
        pipeline.step({"t": [(1, number) for number in range(len(_MANY))]})
        lines = [_line(what, pipeline, work, runs) for what, work in _STATEMENTS.items()]
    note = f"The signal comes when the statement has been at work for {_WORKS_SECONDS} s. Nothing of it is left."
    return Figure("m", "Ctrl-C", lines, runs, ("native",), (note,))


def _line(what: str, pipeline: penstock.Pipeline, work: Work, runs: Runs) -> Line:
    found = [_stopped(pipeline, work) for _ in range(runs.warm + runs.measured)][runs.warm :]
    middle = statistics.median(found)
    said = f"p50 {milliseconds(middle)}, at most {milliseconds(max(found))}"
    return Line(what, (said,), (Bar(f"p50 ≤ {_BOUND} ms", middle <= _BOUND),))


def _stopped(pipeline: penstock.Pipeline, work: Work) -> float:
    """Milliseconds from the signal to the error."""
    sent: list[float] = []
    sender = threading.Thread(target=lambda: sent.append(_sent(pipeline)))
    sender.start()
    try:
        work(pipeline)
    except KeyboardInterrupt:
        took = time.perf_counter()
    else:
        message = "it has come to its end before it was stopped"
        raise RuntimeError(message)
    sender.join()
    if pipeline.steps > 1:
        message = "a statement that was stopped has made a step"
        raise RuntimeError(message)
    return (took - sent[0]) * 1000


def _sent(pipeline: penstock.Pipeline) -> float:
    """Send the signal once the pipeline has been at one thing for a while; gives when that was."""
    store = pipeline._opened().stepper.engine.store  # noqa: SLF001 - who works is nobody's business but a bench's
    began = time.perf_counter()
    while time.perf_counter() < began + _WORKS_SECONDS:
        time.sleep(0.002)
        if store.works_for is None:
            began = time.perf_counter()
    sent = time.perf_counter()
    os.kill(os.getpid(), signal.SIGINT)
    return sent


@contextmanager
def _raising() -> Iterator[None]:
    """Ctrl-C raises KeyboardInterrupt: a shell has what it starts in the background ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
