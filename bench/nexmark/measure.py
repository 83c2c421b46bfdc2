"""What is measured of one query on one system, and how much memory its processes had at most."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from bench.nexmark.answers import Answer
from bench.report import machine

_KIB = 1024


@dataclass(frozen=True)
class Measured:
    """One query on one system; `steps` is None where there are none, `refused` says why there is no answer.

    `noise` is what the runs of a system differ by from whose time that of an empty job is taken away: where less than
    that is left, `seconds` is None.
    `slower` holds what was measured of other ways to run it on that system; `machine` says where it was, and when.
    """

    query: str
    system: str
    events: int
    seconds: float | None = None
    steps: Sequence[float] | None = None
    peak_mib: int | None = None
    state_rows: int | None = None
    answers: Sequence[Answer] = ()
    refused: str | None = None
    note: str | None = None
    equal: bool | None = None
    slower: tuple[Measured, ...] = ()
    machine: str | None = None
    noise: float | None = None

    @property
    def is_measurable(self) -> bool:
        """True unless the time is less than the noise."""
        return self.seconds is not None or self.noise is None

    def as_object(self) -> dict[str, Any]:
        """What `--format json` prints. A wrong answer has no time."""
        timed = self.seconds is not None and self.equal is True
        seconds = self.seconds if timed else None
        found: dict[str, Any] = {"query": self.query, "system": self.system, "events": self.events}
        found["seconds"] = None if seconds is None else round(seconds, 3)
        found["events_per_s"] = None if not seconds else round(self.events / seconds)
        found["steps"] = None if self.steps is None else len(self.steps)
        found["p50_ms"], found["p99_ms"] = (self._percentile(share) if timed else None for share in (0.5, 0.99))
        found |= {} if self.is_measurable else {"not_measurable": True}
        found |= {"peak_mib": self.peak_mib, "state_rows": self.state_rows, "equal": self.equal}
        return found | ({"refused": self.refused} if self.refused else {}) | ({"note": self.note} if self.note else {})

    def _percentile(self, share: float) -> float | None:
        if not self.steps:
            return None
        ordered = sorted(self.steps)
        return round(ordered[math.ceil(share * len(ordered)) - 1] * 1000, 1)


@cache
def where() -> str:
    """The machine, with its load when this run began."""
    return f"{machine()}; DuckDB {version('duckdb')}"


class PeakMemory:
    """The most memory that some processes and a JVM have held since it was made, in MiB.

    A process gives its resident memory. A JVM does not give back what it once had, so a query would be charged for the
    one before it: what its pools (heap, classes, compiled code) held at most counts, garbage included.
    """

    def __init__(self, processes: Sequence[int], jvm: Any = None) -> None:
        self._processes = [process for process in processes if Path(f"/proc/{process}/status").exists()]
        for process in self._processes:
            Path(f"/proc/{process}/clear_refs").write_text("5")  # the kernel forgets the peak so far
        self._pools = [] if jvm is None else jvm.java.lang.management.ManagementFactory.getMemoryPoolMXBeans()
        for pool in self._pools:
            pool.resetPeakUsage()

    def mib(self) -> int | None:
        """The sum of the peaks; None where the system does not tell."""
        peaks = [_peak(process) * _KIB for process in self._processes]
        peaks += [int(pool.getPeakUsage().getUsed()) for pool in self._pools]
        return sum(peaks) // _KIB // _KIB if peaks else None


def _peak(process: int) -> int:
    for line in Path(f"/proc/{process}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1])
    return 0


def memory_of(spark: Any) -> PeakMemory:
    """What this process and the JVM that serves a session hold at most from now on."""
    return PeakMemory([os.getpid()], spark._jvm)  # noqa: SLF001 - there is no public way


def lines_of(text: str) -> list[dict[str, Any]]:
    """The JSON objects among the lines of a worker's output."""
    return [json.loads(line) for line in text.splitlines() if line.startswith("{")]
