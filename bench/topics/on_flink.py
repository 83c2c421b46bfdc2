"""Flink SQL from topic to topic, with its own connector; run with the Python of an environment that has apache-flink.

`on_flink.py ORDER`: an order as `jobs` writes it; prints the seconds of each run. A checkpoint is made every ten
seconds, and with it what was written exactly once is committed.
"""

from __future__ import annotations

import json
import sys
import time
import uuid
from typing import Any

from pyflink.table import EnvironmentSettings, TableEnvironment

_SETTINGS = {
    "parallelism.default": "2",
    "pipeline.object-reuse": "true",
    "table.local-time-zone": "UTC",
    "execution.checkpointing.interval": "10 s",
}
_EVENTS = """
CREATE TABLE events (`at` TIMESTAMP(3), k BIGINT, x BIGINT,
  WATERMARK FOR `at` AS `at` - INTERVAL '{seconds}' SECOND) WITH (
  'connector' = 'kafka', 'topic' = '{topic}', 'properties.bootstrap.servers' = '{servers}', 'format' = 'json',
  'scan.startup.mode' = 'earliest-offset'{bounded})
"""
_RESULTS = """
CREATE TABLE results (closed TIMESTAMP(3), k BIGINT, n BIGINT, s BIGINT) WITH (
  'connector' = 'kafka', 'topic' = '{out}', 'properties.bootstrap.servers' = '{servers}', 'format' = 'json',
  'sink.delivery-guarantee' = '{delivery}', 'sink.transactional-id-prefix' = '{prefix}',
  'properties.transaction.timeout.ms' = '600000')
"""
_QUERY = """
INSERT INTO results SELECT window_end, k, COUNT(*), SUM(x)
FROM TABLE(TUMBLE(TABLE events, DESCRIPTOR(`at`), INTERVAL '{window}' SECOND)) GROUP BY window_start, window_end, k
"""


def main(order: dict[str, Any]) -> None:
    """Each of the runs; one that is live ends with its process."""
    for run in order["runs"]:
        given = {**order, **run, "prefix": f"bench-{uuid.uuid4().hex[:8]}", "seconds": f"{order['delay'] / 1000:.3f}"}
        given["bounded"] = "" if order["live"] else ", 'scan.bounded.mode' = 'latest-offset'"
        began = time.perf_counter()
        environment = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
        for name, value in {**_SETTINGS, "pipeline.jars": order["jars"]}.items():
            environment.get_config().set(name, value)
        for statement in (_EVENTS, _RESULTS):
            environment.execute_sql(statement.format(**given))
        environment.execute_sql(_QUERY.format(**given)).wait()
        print(json.dumps(time.perf_counter() - began), flush=True)


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
