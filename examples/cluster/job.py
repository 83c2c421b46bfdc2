"""A program of Penstock as an application of Spark, for a cluster: its sources are followed until it is told to end.

    spark-submit --master k8s://… job.py program.sql --dir /shared/penstock/orders

The program's own outputs (`INSERT INTO` a table with a connector) get what changes. Started again with the same
directory it goes on where it was.
"""

from __future__ import annotations

import argparse
import signal
from pathlib import Path

from pyspark.sql import SparkSession

import penstock


def main() -> None:
    """Follow the program's sources over the session that spark-submit has made."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=Path, help="a file of SQL")
    parser.add_argument("--dir", type=Path, required=True, help="a folder that the driver and all executors see")
    parser.add_argument("--once", action="store_true", help="end when the sources are used up")
    parser.add_argument("--metrics-port", type=int, help="serve /metrics, /health and /ready on this port")
    given = parser.parse_args()
    session = SparkSession.builder.appName(given.program.stem).getOrCreate()
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # a pod that is deleted ends as at Ctrl-C
    try:
        with penstock.Pipeline(given.program, spark=session, directory=given.dir) as pipeline:
            if given.metrics_port is not None:
                pipeline.serve_metrics(given.metrics_port, "0.0.0.0")  # noqa: S104 - for who scrapes the pod
            pipeline.run(once=given.once)
    except KeyboardInterrupt:
        return
    finally:
        session.stop()


if __name__ == "__main__":
    main()
