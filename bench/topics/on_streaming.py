"""Structured Streaming from topic to topic: `on_streaming.py ORDER`, as `jobs` writes it; prints each run's seconds.

Its sink writes at least once: it has no other way.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql import functions as f

_SCHEMA = "at TIMESTAMP, k BIGINT, x BIGINT"


def main(order: dict[str, Any]) -> None:
    """Each of the runs; one that is live ends with its process."""
    builder = SparkSession.builder.master("local[2]").config("spark.jars", order["jars"])
    settings = {
        "spark.driver.memory": order["memory"],
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.session.timeZone": "UTC",
        "spark.ui.enabled": "false",
    }
    for name, value in settings.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    for run in order["runs"]:
        began = time.perf_counter()
        _ran(spark, {**order, **run})
        print(json.dumps(time.perf_counter() - began), flush=True)
    spark.stop()


def _ran(spark: SparkSession, order: dict[str, Any]) -> None:
    reader = spark.readStream.format("kafka").option("kafka.bootstrap.servers", order["servers"])
    reader = reader.option("subscribe", order["topic"]).option("startingOffsets", "earliest")
    if order.get("rows"):
        reader = reader.option("maxOffsetsPerTrigger", str(order["rows"]))
    events = reader.load().select(f.from_json(f.col("value").cast("string"), _SCHEMA).alias("e")).select("e.*")
    window = f.window("at", f"{order['window']} seconds")
    counted = events.withWatermark("at", f"{order['delay']} milliseconds").groupBy(window, "k")
    found = counted.agg(f.count("*").alias("n"), f.sum("x").alias("s"))
    results = found.select(f.to_json(f.struct(f.col("window.end").alias("closed"), "k", "n", "s")).alias("value"))
    with tempfile.TemporaryDirectory() as folder:
        writer = results.writeStream.format("kafka").option("kafka.bootstrap.servers", order["servers"])
        writer = writer.option("topic", order["out"]).option("checkpointLocation", folder).outputMode("append")
        trigger = writer.trigger(processingTime="0 seconds") if order["live"] else writer.trigger(availableNow=True)
        trigger.start().awaitTermination()


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
