"""Queries of figure l on Flink SQL; run with the Python of an environment that has apache-flink: … ORDER.json.

The order says the jars, the tables over a folder, the folders `full` and `empty`, and the queries by name. Their rows
are thrown away (`blackhole`). Printed are the seconds of each query, without those of the same job over no rows; null
where that leaves noise.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

from pyflink.table import EnvironmentSettings, TableDescriptor, TableEnvironment

from bench.net import net

_SETTINGS = {"parallelism.default": "2", "pipeline.object-reuse": "true", "table.local-time-zone": "UTC"}
_RUNS = 2


def seconds(order: dict[str, Any], query: str, folder: str) -> float:
    """How long a query takes over a folder, the job's start included."""
    environment = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    for key, value in {**_SETTINGS, "pipeline.jars": order["jars"]}.items():
        environment.get_config().set(key, value)
    for table in order["tables"]:
        environment.execute_sql(table.replace("{folder}", folder))
    began = time.perf_counter()
    environment.sql_query(query).execute_insert(TableDescriptor.for_connector("blackhole").build()).wait()
    return time.perf_counter() - began


def main() -> None:
    """The quicker of two runs of each query, after one to warm up."""
    order = json.loads(Path(sys.argv[1]).read_text())
    found = {}
    for name, query in order["queries"].items():
        starts = [seconds(order, query, order["empty"]) for _ in range(_RUNS)]
        seconds(order, query, order["full"])
        runs = [seconds(order, query, order["full"]) for _ in range(_RUNS)]
        starts.append(seconds(order, query, order["empty"]))
        found[name] = net(runs, starts).seconds
    print(json.dumps(found))


if __name__ == "__main__":
    main()
