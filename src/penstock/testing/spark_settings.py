"""Spark's settings for tests: many small queries, each of which runs a few times."""

from __future__ import annotations

SETTINGS = {
    "spark.driver.memory": "2g",
    "spark.sql.shuffle.partitions": "2",
    # Compiling such queries well takes longer than running them.
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1",
}
# Spark's other way to an answer: nothing is compiled. Not for texts with a collation: Spark 4.1 keeps these for an
# aggregate beside a list (`max_by` beside `collect_list`) without a copy, so that a later row overwrites them.
INTERPRETED = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}
