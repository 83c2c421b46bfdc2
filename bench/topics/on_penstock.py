"""Penstock from topic to topic: `on_penstock.py ORDER`, as `jobs` writes it; prints each run's seconds."""

from __future__ import annotations

import json
import sys
import tempfile
import time
from typing import Any

import penstock

_PROGRAM = """
CREATE STREAM events (at TIMESTAMP LATENESS INTERVAL {delay} MILLISECONDS, k BIGINT, x BIGINT) WITH (
  'connector' = 'kafka', 'topic' = '{topic}', 'bootstrap.servers' = '{servers}', 'history' = 'none'{rows}
);
CREATE VIEW results WITH (
  'connector' = 'kafka', 'topic' = '{out}', 'bootstrap.servers' = '{servers}', 'form' = 'append'{delivery}
) AS
SELECT TUMBLE_END(at, INTERVAL '{window}' SECOND) AS closed, k, COUNT(*) AS n, SUM(x) AS s
FROM events GROUP BY TUMBLE(at, INTERVAL '{window}' SECOND), k EMIT AFTER WATERMARK;
"""


def main(order: dict[str, Any]) -> None:
    """Each of the runs; one that is live ends with its process."""
    for run in order["runs"]:
        delivery = ", 'sink.delivery-guarantee' = 'at-least-once'" if order["delivery"] == "at-least-once" else ""
        rows = f", 'rows_per_step' = '{order['rows']}'" if order.get("rows") else ""
        text = _PROGRAM.format(**{**order, **run, "delivery": delivery, "rows": rows})
        began = time.perf_counter()
        with (
            tempfile.TemporaryDirectory() as folder,
            penstock.Pipeline(text, engine="native", directory=folder) as pipeline,
        ):
            pipeline.run(once=not order["live"])
        print(json.dumps(time.perf_counter() - began), flush=True)


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
