"""The gain of working in the process: the first events once more, as the program has them and all on Spark.

Two pipelines take the same files in turn, step after step, so that both have the same machine and the same JVM.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from penstock.catalog.settings import AUTO, ON_SPARK
from penstock.demo.replay import Replay
from penstock.demo.timeline import Timeline
from penstock.pipeline.pipeline import Pipeline

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

EVENTS = 10_000
STEPS = 6
WARM = 2  # steps of each in which the JVM still compiles what the later ones run


@dataclass(frozen=True)
class Gain:
    """The seconds of the measured steps: as the views are placed, and with all of them on Spark."""

    placed: Sequence[float]
    on_spark: Sequence[float]
    events: int

    @property
    def ratio(self) -> float:
        """The median step with all on Spark, in median steps as the views are placed."""
        return median(self.on_spark) / median(self.placed)

    def line(self) -> str:
        """The gain in words, with what it was measured of."""
        here, there = median(self.placed), median(self.on_spark)
        return (
            f"A step of {self.events:,} flight events takes {here:.2f} s with the views where they work, "
            f"and {there:.2f} s with all of them on Spark: {self.ratio:.1f} times as long "
            f"(medians of {len(self.placed)} steps, here and now)"
        )


def measured(events: Timeline, program: str, data: Path, spark: SparkSession) -> Gain:
    """Give the first events of a timeline to a program, which reads them from `data`, on both engines."""
    size = max(1, min(EVENTS, len(events.flights_at) // STEPS))
    replay = Replay(events, data, size)
    replay.prepare()
    with Pipeline(program, spark=spark, engine=AUTO) as here, Pipeline(program, spark=spark, engine=ON_SPARK) as there:
        seconds = [_step(replay, number, {AUTO: here, ON_SPARK: there}) for number in range(STEPS)]
    counted = seconds[WARM:]
    return Gain([item[AUTO] for item in counted], [item[ON_SPARK] for item in counted], size)


def _step(replay: Replay, number: int, pipelines: Mapping[str, Pipeline]) -> dict[str, float]:
    replay.write(replay.slices[number])
    return {name: _seconds(pipeline) for name, pipeline in pipelines.items()}


def _seconds(pipeline: Pipeline) -> float:
    started = time.perf_counter()
    pipeline.run(once=True)
    return time.perf_counter() - started
