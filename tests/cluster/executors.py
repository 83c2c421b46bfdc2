"""A pipeline on executors in processes of their own, of which one is killed in the middle of a step.

Run as a program, with a folder for its directory; it prints what each view holds after each step, as JSON.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pyarrow as pa

import penstock

MASTER = "local-cluster[2,1,768]"
CONF = {
    "spark.executor.memory": "512m", "spark.sql.shuffle.partitions": "2", "spark.log.level": "OFF",
    "spark.ui.enabled": "false",
}  # fmt: skip
PROGRAM = """
CREATE TABLE sales (id BIGINT PRIMARY KEY, shop BIGINT, amount BIGINT);
CREATE TABLE shops (shop BIGINT PRIMARY KEY, city STRING);
CREATE VIEW by_city AS
  SELECT city, count(*) AS n, sum(amount) AS amount, max(amount) AS greatest
  FROM sales JOIN shops ON sales.shop = shops.shop GROUP BY city;
CREATE VIEW largest AS SELECT * FROM sales ORDER BY amount DESC, id LIMIT 5;
"""
VIEWS = ("by_city", "largest")
ROWS = 120_000  # more than stays on the driver


def sales(start: int, rows: int, factor: int) -> pa.Table:
    """Rows by rule; those of another factor replace those with the same ids."""
    ids = range(start, start + rows)
    return pa.table(
        {
            "id": pa.array(ids, pa.int64()),
            "shop": pa.array([(number * factor) % 40 for number in ids], pa.int64()),
            "amount": pa.array([(number * 7919 * factor) % 100_003 for number in ids], pa.int64()),
        }
    )


def shops() -> list[tuple[int, str]]:
    """Forty shops in seven cities."""
    return [(number, f"city {number % 7}") for number in range(40)]


# Those after the first replace rows, so that a state that had lost some would show.
STEPS: tuple[dict[str, Any], ...] = (
    {"shops": shops(), "sales": sales(0, ROWS, 1)},
    {"sales": sales(ROWS // 2, ROWS, 3)},
    {"sales": sales(0, ROWS // 4, 5)},
)
KILLED_IN = 1


def executors() -> list[int]:
    """The processes of the executors that this process's JVM has started."""
    parents, found = {}, []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                stat = (entry / "stat").read_text()
                command = (entry / "cmdline").read_bytes()
            except OSError:  # it has ended
                continue
            parents[int(entry.name)] = int(stat.rpartition(")")[2].split()[1])
            if b"CoarseGrainedExecutorBackend" in command:
                found.append(int(entry.name))
    return [number for number in found if _descends(number, parents)]


def _descends(number: int, parents: dict[int, int]) -> bool:
    while number > 1:
        number = parents.get(number, 0)
        if number == os.getpid():
            return True
    return False


class Killing(threading.Thread):
    """Kills the executor that has run the longest as soon as a job runs tasks; `killed` is its number."""

    def __init__(self, tracker: Any) -> None:
        super().__init__(daemon=True)
        self._tracker = tracker
        self.killed: int | None = None
        self.over = False

    def run(self) -> None:
        while not self.over and self.killed is None:
            if any(self._active(stage) for stage in self._tracker.getActiveStageIds()):
                victim = min(executors())
                os.kill(victim, signal.SIGKILL)
                self.killed = victim
            time.sleep(0.005)

    def _active(self, stage: int) -> bool:
        found = self._tracker.getStageInfo(stage)
        return found is not None and found.numActiveTasks > 0


def main(folder: str) -> None:
    """Make the steps, and kill an executor in one of them."""
    found: list[dict[str, list[list[Any]]]] = []
    with penstock.Pipeline(PROGRAM, master=MASTER, conf=CONF, engine="spark", directory=folder) as pipeline:
        for number, inputs in enumerate(STEPS):
            killing = None
            if number == KILLED_IN:
                killing = Killing(pipeline.spark.sparkContext.statusTracker())
                killing.start()
            pipeline.step(inputs)
            if killing is not None:
                killing.over = True
                killing.join()
                assert killing.killed is not None, "no executor was killed while the step ran"
            found.append({view: [list(row) for row in pipeline.query(f"SELECT * FROM {view}").rows] for view in VIEWS})
    sys.stdout.write(json.dumps(found) + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
