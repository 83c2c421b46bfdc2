"""h: how long each command takes from its call to its end, the shell to its prompt and its first answer; and chains."""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from bench.measure import Effort, Runs
from bench.report import Bar, Figure, Line
from bench.terminal import Terminal
from bench.ways import ENGINES

CALL = (sys.executable, "-c", "from penstock.cli.main import main; main()")
_CHAINS = (100, 1000)
_FILES = "CREATE TABLE t (k INT, x INT) WITH ('connector' = 'files', 'path' = '{folder}', 'format' = 'csv');\n"
_TABLE = "CREATE TABLE t (k INT, x INT);\n"
_VIEW = "CREATE VIEW sums AS SELECT k, sum(x) AS s, count(*) AS n FROM t GROUP BY k;\n"
_ASKED, _ANSWER = "INSERT INTO t VALUES (1, 4321), (1, 1234);", "5555"
_PROMPT = "penstock>"
_TO_PROMPT, _TO_ANSWER, _ONCE = 1.0, 0.2, 2.0  # seconds, where operators work in the process


def figure(*, effort: Effort) -> Figure:
    """Seconds of each command on a small program, and of `check` and `explain` on chains of views."""
    runs = effort.runs(Runs(1, 5), quick=Runs(0, 1))
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # what is installed is compiled once, not at each call
    with tempfile.TemporaryDirectory() as folder:
        lines = [
            *(_line(what, call, runs) for what, call in _commands(Path(folder))),
            *_shell(Path(folder), runs),
            *(_line_by_engine(what, call, runs, most) for what, call, most in _working(Path(folder))),
        ]
        lines += [
            _line(f"{command}, {size:,} views over one another", (command, _chain(Path(folder), size)), runs)
            for size in _CHAINS[: 0 if effort.quick else None]
            for command in ("check", "explain")
        ]
    note = (
        "Seconds by the wall, and of CPU, those of the JVM among them; commands without an engine stand under native."
    )
    return Figure("h", "Starting", lines, runs, heads=ENGINES, notes=(note,))


def _commands(folder: Path) -> Sequence[tuple[str, tuple[str, ...]]]:
    """What needs no engine."""
    program = folder / "program.sql"
    program.write_text(_TABLE + _VIEW)
    return (("--help", ("--help",)), ("check", ("check", str(program))), ("explain", ("explain", str(program))))


def _working(folder: Path) -> Sequence[tuple[str, tuple[str, ...], float | None]]:
    """What an engine works for, and the seconds that it may take in the process, if that is bounded."""
    rows = folder / "rows"
    rows.mkdir()
    (rows / "first.csv").write_text("k,x\n1,2\n1,3\n2,4\n")
    program = folder / "following.sql"
    program.write_text(_FILES.format(folder=rows) + _VIEW)
    name = str(program)
    return (
        ("run --once, one file of three rows", ("run", name, "--once"), _ONCE),
        ("query", ("query", name, "SELECT count(*) FROM sums"), None),
    )


def _shell(folder: Path, runs: Runs) -> list[Line]:
    """The shell on a terminal, until it asks for a statement, and from the first one to the view's change."""
    found = {engine: _repeated(lambda engine=engine: _asked(folder, engine), runs) for engine in ENGINES}
    said = {"sql, to its prompt": _TO_PROMPT, "sql, from the first INSERT to the view's change": _TO_ANSWER}
    return [
        Line(what, tuple(f"{seconds[at]:.2f} s" for seconds in found.values()), _bars(found["native"][at], most))
        for at, (what, most) in enumerate(said.items())
    ]


def _bars(seconds: float, most: float | None) -> tuple[Bar, ...]:
    return () if most is None else (Bar(f"native ≤ {most:g} s", seconds <= most),)


def _asked(folder: Path, engine: str) -> tuple[float, float]:
    """Seconds to the prompt, and from a statement to its answer."""
    with Terminal((*CALL, "sql", str(folder / "program.sql"), "--engine", engine)) as shell:
        return shell.until(_PROMPT), shell.until(_ANSWER, typed=_ASKED + "\r")


def _chain(folder: Path, size: int) -> str:
    """A program of so many views, each over the one before."""
    program = folder / f"chain{size}.sql"
    views = ["CREATE TABLE t (k INT, x INT);", "CREATE VIEW v0 AS SELECT k, x FROM t;"]
    views += [f"CREATE VIEW v{at} AS SELECT k, x + 1 AS x FROM v{at - 1} WHERE x <> {at};" for at in range(1, size)]
    program.write_text("\n".join(views))
    return str(program)


def _line(what: str, call: tuple[str, ...], runs: Runs) -> Line:
    return Line(what, (_cell(_cost(call, runs)), "–"))


def _line_by_engine(what: str, call: tuple[str, ...], runs: Runs, most: float | None) -> Line:
    found = {engine: _cost((*call, "--engine", engine), runs) for engine in ENGINES}
    return Line(what, tuple(map(_cell, found.values())), _bars(found["native"][0], most))


def _cost(call: tuple[str, ...], runs: Runs) -> tuple[float, float]:
    return _repeated(lambda: _timed(call), runs)


def _cell(cost: tuple[float, float]) -> str:
    seconds, cpu = cost
    return f"{seconds:.2f} s (CPU {cpu:.2f})"


def _repeated(work: Callable[[], tuple[float, float]], runs: Runs) -> tuple[float, float]:
    """The medians of two figures."""
    for _ in range(runs.warm):
        work()
    first, second = zip(*(work() for _ in range(runs.measured)), strict=True)
    return statistics.median(first), statistics.median(second)


def _timed(call: tuple[str, ...]) -> tuple[float, float]:
    """Seconds by the wall and of CPU, children's children included."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(  # noqa: S603 - our own command
        (*CALL, *call), stdin=subprocess.DEVNULL, capture_output=True, check=False, env=os.environ
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        message = f"penstock {' '.join(call)} ended with {done.returncode}: {done.stderr.decode()[-500:]}"
        raise RuntimeError(message)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return time.perf_counter() - began, cpu
