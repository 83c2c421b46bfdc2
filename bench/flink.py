"""Flink SQL beside Penstock: jobs that run in an environment of their own, `.venv-flink`, which `make flink` makes."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

from bench.nexmark.task import UnavailableError

_HERE = Path(__file__).parent
PYTHON = _HERE.parent / ".venv-flink" / "bin" / "python"
_RESULT = re.compile(r"\+[IU]\[\d+, \d+, \d+, (\d{4}-\d\d-\d\d)T([\d:.]+)\]")
_LAST_LINES = 30
_MOST_SAID = 300


def output(job: str, *arguments: str, memory: str | None = None) -> str:
    """The last line that a job prints. UnavailableError where there is no environment, or the job fails.

    `memory` is that of the JVM, such as 4g.
    """
    lines = list(_printed([job, *arguments], memory))
    if not lines:
        message = f"Flink's {job} has printed nothing"
        raise UnavailableError(message)
    return lines[-1]


def latencies(warm: int, measured: int) -> list[float]:
    """The milliseconds from a row's being made to its result's being printed, of so many rows after the first ones.

    UnavailableError where there is no environment, or the job fails, or no result is among what it prints.
    """
    found: list[float] = []
    for line in _printed(["flink_latency.py", str(warm + measured)]):
        seen = datetime.now(UTC)
        result = _RESULT.search(line)
        if result is not None:
            made = datetime.fromisoformat(f"{result[1]}T{result[2]}+00:00")
            found.append((seen - made).total_seconds() * 1000)
    if len(found) <= warm:
        message = f"Flink has printed {len(found)} results of {warm + measured}"
        raise UnavailableError(message)
    return found[warm:]


def without(error: UnavailableError) -> str:
    """A note for a figure that has no column of Flink."""
    return f"Flink has not run beside them: {error}."


def _printed(job: Sequence[str], memory: str | None = None) -> Iterator[str]:
    """The lines of a job as they come; what it says besides is shown if it fails."""
    if not PYTHON.exists():
        message = f"there is no {PYTHON.parents[1].name}, which `make flink` makes"
        raise UnavailableError(message)
    command = [str(PYTHON), str(_HERE / job[0]), *job[1:]]
    settings = os.environ | {"PYTHONPATH": str(_HERE.parent)} | ({"JVM_ARGS": f"-Xmx{memory}"} if memory else {})
    with tempfile.TemporaryFile("w+") as said:
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=said, text=True, env=settings) as running:  # noqa: S603
            yield from running.stdout or ()
        if running.returncode:
            said.seek(0)
            raise _failed(job[0], running.returncode, said.read().splitlines())


def _failed(job: str, code: int, said: list[str]) -> UnavailableError:
    """The error of a job; its last lines go to stderr, as Java's reasons take many."""
    print(*said[-_LAST_LINES:], sep="\n", file=sys.stderr)
    reasons = [line.strip() for line in said if line.strip() and not line[0].isspace()]
    reason = f", {reasons[-1][:_MOST_SAID]}" if reasons else ""
    return UnavailableError(f"{job} has ended with {code}{reason}")
