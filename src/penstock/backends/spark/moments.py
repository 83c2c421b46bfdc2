"""Texts that Spark reads as times, for the process, which asks where it does not know a zone (`native.asked`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def moments_of_texts(spark: SparkSession, kind: str, texts: Sequence[str]) -> list[int | None]:
    """The microseconds since 1970 of each text as a value of the type, in UTC; None for one that has none."""
    import pyarrow as pa  # noqa: PLC0415 - 100 ms that `check` need not wait

    rows = spark.createDataFrame(pa.table({"place": list(range(len(texts))), "text": list(texts)}))
    told = rows.selectExpr("place", f"unix_micros(CAST(try_cast(text AS {kind}) AS TIMESTAMP)) AS micros").toArrow()
    found: list[int | None] = told.sort_by("place").column("micros").to_pylist()
    return found
