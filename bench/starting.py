"""h: how long each command takes from its call to its end; and chains of views over one another."""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from bench.measure import Effort, Runs
from bench.report import Figure, Line

_CALL = (sys.executable, "-c", "from penstock.cli.main import main; main()")
_CHAINS = (100, 1000)
_TABLE = "CREATE TABLE t (k INT, x INT) WITH ('connector' = 'files', 'path' = '{folder}', 'format' = 'csv');\n"
_VIEW = "CREATE VIEW sums AS SELECT k, sum(x) AS s, count(*) AS n FROM t GROUP BY k;\n"


def figure(*, effort: Effort) -> Figure:
    """Seconds of each command on a small program, and of `check` and `explain` on chains of views."""
    runs = effort.runs(Runs(1, 3), quick=Runs(0, 1))
    with tempfile.TemporaryDirectory() as folder:
        lines = [_line(what, call, runs) for what, call in _commands(Path(folder))]
        lines += [
            _line(f"{command}, {size:,} views over one another", (command, _chain(Path(folder), size)), runs)
            for size in _CHAINS[: 1 if effort.quick else None]
            for command in ("check", "explain")
        ]
    return Figure("h", "Starting", lines, runs, heads=("seconds", "CPU seconds"))


def _commands(folder: Path) -> Sequence[tuple[str, tuple[str, ...]]]:
    rows = folder / "rows"
    rows.mkdir()
    (rows / "first.csv").write_text("k,x\n1,2\n1,3\n2,4\n")
    program = folder / "program.sql"
    program.write_text(_TABLE.format(folder=rows) + _VIEW)
    name = str(program)
    return (
        ("--help", ("--help",)),
        ("check", ("check", name)),
        ("explain", ("explain", name)),
        ("sql, to the end of its input", ("sql", name)),
        ("run --once, one file of three rows", ("run", name, "--once")),
        ("query", ("query", name, "SELECT count(*) FROM sums")),
    )


def _chain(folder: Path, size: int) -> str:
    """A program of so many views, each over the one before."""
    program = folder / f"chain{size}.sql"
    views = ["CREATE TABLE t (k INT, x INT);", "CREATE VIEW v0 AS SELECT k, x FROM t;"]
    views += [f"CREATE VIEW v{at} AS SELECT k, x + 1 AS x FROM v{at - 1} WHERE x <> {at};" for at in range(1, size)]
    program.write_text("\n".join(views))
    return str(program)


def _line(what: str, call: tuple[str, ...], runs: Runs) -> Line:
    for _ in range(runs.warm):
        _timed(call)
    found = [_timed(call) for _ in range(runs.measured)]
    seconds, cpu = (statistics.median(side) for side in zip(*found, strict=True))
    return Line(what, (f"{seconds:.2f}", f"{cpu:.2f}"))


def _timed(call: tuple[str, ...]) -> tuple[float, float]:
    """Seconds by the wall and of CPU, children's children included."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(  # noqa: S603 - our own command
        (*_CALL, *call), stdin=subprocess.DEVNULL, capture_output=True, check=False, env=os.environ
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        message = f"penstock {' '.join(call)} ended with {done.returncode}: {done.stderr.decode()[-500:]}"
        raise RuntimeError(message)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return time.perf_counter() - began, cpu
