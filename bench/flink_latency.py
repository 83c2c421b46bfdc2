"""The query of figure k on Flink SQL, to `print`; run with the Python of an environment that has apache-flink.

Each row carries the time at which its source has made it, so whoever reads a printed line knows how old its row is.
Flink hands rows on at once (no buffer timeout), and runs as one task of each operator, which is as quick as it can be.
"""

from __future__ import annotations

import sys

from pyflink.table import EnvironmentSettings, TableEnvironment

_PER_SECOND = 20


def main(count: int) -> None:
    """Print a result for each of so many rows."""
    environment = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    settings = {
        "parallelism.default": "1",
        "execution.buffer-timeout.interval": "0 ms",
        "table.local-time-zone": "UTC",
    }
    for name, value in settings.items():
        environment.get_config().set(name, value)
    environment.execute_sql(
        "CREATE TABLE t (k BIGINT, x BIGINT, made AS CAST(CURRENT_ROW_TIMESTAMP() AS TIMESTAMP(3))) WITH ("
        f"'connector' = 'datagen', 'number-of-rows' = '{count}', 'rows-per-second' = '{_PER_SECOND}', "
        "'fields.k.min' = '0', 'fields.k.max' = '9', 'fields.x.min' = '0', 'fields.x.max' = '999')"
    )
    environment.execute_sql(
        "CREATE TABLE shown (k BIGINT, n BIGINT, s BIGINT, made TIMESTAMP(3)) WITH ('connector' = 'print')"
    )
    environment.execute_sql("INSERT INTO shown SELECT k, COUNT(*), SUM(x), MAX(made) FROM t GROUP BY k").wait()


if __name__ == "__main__":
    main(int(sys.argv[1]))
