"""The query of figure b on Flink SQL; run with the Python of an environment that has apache-flink.

Flink makes the rows itself (`datagen`) and throws the updates away (`blackhole`), which is the least that it can do.
"""

from __future__ import annotations

import json
import time

from pyflink.table import EnvironmentSettings, TableEnvironment

from bench.net import net

_ROWS = 4_000_000
_RUNS = 2


def seconds(environment: TableEnvironment, count: int) -> float:
    """How long the query takes over that many rows, the job's start included."""
    name = f"t{count}"
    environment.execute_sql(
        f"CREATE TABLE {name} (k BIGINT, x BIGINT) WITH ('connector' = 'datagen', 'number-of-rows' = '{count}', "
        "'rows-per-second' = '1000000000', 'fields.k.min' = '0', 'fields.k.max' = '999999', "
        "'fields.x.min' = '0', 'fields.x.max' = '999')"
    )
    began = time.perf_counter()
    environment.execute_sql(f"INSERT INTO sink SELECT k, SUM(x), COUNT(*), AVG(x) FROM {name} GROUP BY k").wait()
    return time.perf_counter() - began


def main() -> None:
    """Print the rate between a small and a large run, so that starting a job does not count."""
    environment = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    environment.get_config().set("parallelism.default", "2")
    environment.execute_sql(
        "CREATE TABLE sink (k BIGINT, s BIGINT, n BIGINT, a BIGINT) WITH ('connector' = 'blackhole')"
    )
    seconds(environment, _ROWS // 2)  # to warm up
    small, large = [seconds(environment, 1000 + run) for run in range(_RUNS)], [seconds(environment, _ROWS)]
    left = net(large, small).seconds
    print(json.dumps({"rows_per_second": None if left is None else _ROWS / left}))


if __name__ == "__main__":
    main()
