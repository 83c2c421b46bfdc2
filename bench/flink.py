"""Flink SQL beside Penstock: jobs that run in an environment of their own, `.venv-flink`, which `make flink` makes."""

from __future__ import annotations

import re
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

_HERE = Path(__file__).parent
PYTHON = _HERE.parent / ".venv-flink" / "bin" / "python"
_RESULT = re.compile(r"\+[IU]\[\d+, \d+, \d+, (\d{4}-\d\d-\d\d)T([\d:.]+)\]")


def is_there() -> bool:
    """True if the environment has been made."""
    return PYTHON.exists()


def output(job: str) -> str | None:
    """The last line that a job prints; None where there is no environment, or the job fails."""
    if not is_there():
        return None
    found = subprocess.run([str(PYTHON), str(_HERE / job)], capture_output=True, text=True, check=False)  # noqa: S603
    if found.returncode:
        print(found.stderr[-2000:])
        return None
    return found.stdout.splitlines()[-1]


def latencies(warm: int, measured: int) -> list[float] | None:
    """The milliseconds from a row's being made to its result's being printed, of so many rows after the first ones."""
    if not is_there():
        return None
    command = [str(PYTHON), str(_HERE / "flink_latency.py"), str(warm + measured)]
    found: list[float] = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=sys.stderr, text=True) as job:  # noqa: S603
        for line in job.stdout or ():
            seen = datetime.now(UTC)
            result = _RESULT.search(line)
            if result is not None:
                made = datetime.fromisoformat(f"{result[1]}T{result[2]}+00:00")
                found.append((seen - made).total_seconds() * 1000)
    return found[warm:] or None
