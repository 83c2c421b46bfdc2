"""The processor's time that watching costs, beside that of the step that is watched: `python -m bench.watching`."""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path

import penstock
from penstock.steps.events import Event, StepDone
from penstock.watching.endpoint import Endpoint
from penstock.watching.logs import EventLog

PROGRAM = """
CREATE TABLE orders (customer STRING, amount BIGINT, at TIMESTAMP LATENESS INTERVAL 1 HOUR);
CREATE MATERIALIZED VIEW totals AS SELECT customer, COUNT(*) AS n, SUM(amount) AS s FROM orders GROUP BY customer;
"""
STEPS, ROWS, WARM_UP = 200, 1_000, 50


def main() -> None:
    """Print the share of each way of watching."""
    spent: dict[str, list[float]] = {"metrics": [], "json": []}
    events: list[Event] = []
    steps: list[float] = []
    with penstock.Pipeline(PROGRAM, engine="native", on_event=events.append) as pipeline:
        endpoint = Endpoint(pipeline, 0)
        with Path(os.devnull).open("w", encoding="utf-8") as nowhere:
            log = EventLog(nowhere.write)
            log.watched = pipeline
            at = datetime(2026, 1, 1)  # noqa: DTZ001 - UTC, as all times
            for number in range(STEPS):
                clock = at + timedelta(seconds=number)
                rows = [(f"c{item % 50}", item, clock) for item in range(ROWS)]
                steps.append(_taken(lambda rows=rows, clock=clock: pipeline.step({"orders": rows}, clock=clock)))
                event = next(item for item in reversed(events) if isinstance(item, StepDone))
                spent["metrics"].append(_taken(lambda event=event: endpoint(event)))
                spent["json"].append(_taken(lambda event=event: log(event)))
        endpoint.close()
    whole = statistics.median(steps[WARM_UP:])
    for name, times in spent.items():
        print(f"{name}: {statistics.median(times[WARM_UP:]) / whole:.2%} of a step of {ROWS:,} rows")


def _taken(work: Callable[[], object]) -> float:
    began = time.process_time()
    work()
    return time.process_time() - began


if __name__ == "__main__":
    main()
