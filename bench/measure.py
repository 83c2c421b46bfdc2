"""Interleaved measuring: what is compared runs in turn, so that a busy machine slows all of it alike.

Beside the wall clock, each run's CPU time (driver and JVM) is kept: on a shared machine its ratios are steadier.
"""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Work = Callable[[], object]
_ROOMY, _GIB = 20, 1 << 30


@dataclass(frozen=True)
class Runs:
    """How often something is run: first to warm up, then to measure."""

    warm: int
    measured: int


@dataclass(frozen=True)
class Effort:
    """How much is asked for: everything, only a look whether it works (`quick`), or at most so many runs.

    `scale` is the scale factor of the tables for decision support, which the engines `without` do not take part in.
    """

    quick: bool = False
    most: int | None = None
    scale: float = 1.0
    without: tuple[str, ...] = ()

    def runs(self, full: Runs, *, quick: Runs) -> Runs:
        """How often to run something for which both are known."""
        if self.quick or self.most is None:
            return quick if self.quick else full
        return Runs(min(full.warm, self.most), min(full.measured, self.most))


@dataclass(frozen=True)
class Cost:
    """Medians of one piece of work, in milliseconds."""

    wall: float
    cpu: float

    def over(self, other: Cost) -> Cost:
        """The ratio to another cost."""
        return Cost(self.wall / other.wall, self.cpu / other.cpu)


class Meter:
    """Reads the CPU time of this process and of the JVM that serves it."""

    def __init__(self, spark: SparkSession | None = None) -> None:
        self._jvm = None if spark is None else Path(f"/proc/{_jvm_process(spark)}/stat")

    def cpu(self) -> float:
        """CPU time so far, in milliseconds."""
        own = time.process_time() * 1000
        if self._jvm is None or not self._jvm.exists():
            return own
        user, system = self._jvm.read_text().rpartition(")")[2].split()[11:13]
        return own + (int(user) + int(system)) * 1000 / os.sysconf("SC_CLK_TCK")

    def interleaved(self, work: Mapping[str, Work], runs: Runs) -> dict[str, Cost]:
        """The cost of each piece of work: all of them in turn, `runs.warm` times unmeasured."""
        wall: dict[str, list[float]] = {name: [] for name in work}
        cpu: dict[str, float] = dict.fromkeys(work, 0.0)
        for turn in range(runs.warm + runs.measured):
            for name, run in work.items():
                began, spent = time.perf_counter(), self.cpu()
                run()
                if turn >= runs.warm:
                    wall[name].append((time.perf_counter() - began) * 1000)
                    cpu[name] += self.cpu() - spent
        # The kernel counts CPU in ticks of 10 ms: the mean is taken, a median would only see whole ticks.
        return {name: Cost(statistics.median(wall[name]), cpu[name] / runs.measured) for name in work}


def jvm_memory() -> str:
    """The memory of the figures' JVM: what figure i needs of it, where the machine has twice as much."""
    from penstock.backends.native.memory import machine_memory  # the environment of Flink has no Penstock

    return "10g" if machine_memory() >= _ROOMY * _GIB else "4g"


def _jvm_process(spark: SparkSession) -> int:
    return int(spark._jvm.java.lang.ProcessHandle.current().pid())  # noqa: SLF001 - there is no public way
