"""Flink SQL; run with the Python of an environment that has apache-flink: flink_job.py ORDER.json RESULT.jsonl.

The order is written by `on_flink`; the result has a line for each query and way of running it, in its order.
"""

from __future__ import annotations

import json
import os
import sys
import time
import traceback
from pathlib import Path
from typing import Any

from pyflink.java_gateway import get_gateway
from pyflink.table import EnvironmentSettings, TableDescriptor, TableEnvironment

from bench.net import net
from bench.nexmark.measure import PeakMemory

_SETTINGS = {
    "parallelism.default": "2",
    "pipeline.object-reuse": "true",
    "table.local-time-zone": "UTC",
}
_RUNS = 2
_MINI_BATCH = {
    "table.exec.mini-batch.enabled": "true",
    "table.exec.mini-batch.allow-latency": "2 s",
    "table.exec.mini-batch.size": "50000",
    "table.optimizer.distinct-agg.split.enabled": "true",
}


def main() -> None:
    """Each query, with mini-batch and without."""
    order = json.loads(Path(sys.argv[1]).read_text())
    with Path(sys.argv[2]).open("a") as results:
        for query in order["queries"]:
            for mini_batch in (False, True):
                found = {
                    "query": query["name"],
                    "mini_batch": mini_batch,
                    **_tried(order, query, mini_batch=mini_batch),
                }
                results.write(json.dumps(found) + "\n")
                results.flush()


def _tried(order: dict[str, Any], query: dict[str, Any], *, mini_batch: bool) -> dict[str, Any]:
    try:
        return _measured(order, query, _SETTINGS | (_MINI_BATCH if mini_batch else {}))
    except Exception as error:  # noqa: BLE001 - what Flink raises is why it has no answer
        traceback.print_exc()
        return {"refused": _reason(error)}


def _measured(order: dict[str, Any], query: dict[str, Any], settings: dict[str, str]) -> dict[str, Any]:
    """The quicker of two runs over all events, after one to warm up, without what a job over none takes.

    The latter runs before and behind them: the machine may be another one by then.
    """
    starts = [_seconds(order, query, "empty", settings) for _ in range(_RUNS)]
    _seconds(order, query, "full", settings)
    jvm = get_gateway().jvm
    jvm.java.lang.System.gc()
    memory = PeakMemory([os.getpid()], jvm)
    runs = [_seconds(order, query, "full", settings) for _ in range(_RUNS)]
    rows, checksum = _answer(order)
    peak = memory.mib()
    starts.append(_seconds(order, query, "empty", settings))
    return {**net(runs, starts).as_object(), "rows": rows, "checksum": checksum, "peak_mib": peak}


def _seconds(order: dict[str, Any], query: dict[str, Any], folder: str, settings: dict[str, str]) -> float:
    environment = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    for key, value in {**settings, "pipeline.jars": order["jars"]}.items():
        environment.get_config().set(key, value)
    for table in query["tables"]:
        environment.execute_sql(table.replace("{folder}", order[folder]))
    for old in Path(order["answers"]).glob("*"):
        old.unlink()
    sink = TableDescriptor.for_connector("checksum").option("path", order["answers"])
    sink = sink.option("columns", ",".join(query["columns"] or []))
    began = time.perf_counter()
    environment.sql_query(query["text"]).execute_insert(sink.build()).wait()
    return time.perf_counter() - began


def _answer(order: dict[str, Any]) -> tuple[int, int]:
    parts = [path.read_text().split() for path in Path(order["answers"]).glob("*.txt")]
    return sum(int(rows) for rows, _ in parts), sum(int(checksum) for _, checksum in parts)


def _reason(error: Exception) -> str:
    """The innermost cause of what Java says."""
    cause = getattr(error, "java_exception", None)
    while cause is not None and cause.getCause() is not None:
        cause = cause.getCause()
    lines = [line.strip() for line in str(error if cause is None else cause.toString()).splitlines() if line.strip()]
    causes = [line.removeprefix("Caused by: ") for line in lines if line.startswith("Caused by:")]
    return (causes[-1] if causes else lines[0] if lines else type(error).__name__)[:300]


if __name__ == "__main__":
    main()
