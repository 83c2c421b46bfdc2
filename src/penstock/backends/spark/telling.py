"""Values that only Spark can tell, for the process, which asks where it does not know them (`native.asked`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_MICROS = "unix_micros(CAST(try_cast(value AS {kind}) AS TIMESTAMP))"  # None for a text that is no such time


def told(spark: SparkSession, kind: str, values: Sequence[Any]) -> list[Any]:
    """The texts of values that are `double`; of texts the microseconds since 1970 as a time of `kind`."""
    import pyarrow as pa  # noqa: PLC0415 - 100 ms that `check` need not wait

    rows = spark.createDataFrame(pa.table({"place": list(range(len(values))), "value": list(values)}))
    wanted = "CAST(value AS STRING)" if kind == "double" else _MICROS.format(kind=kind)
    answers = rows.selectExpr("place", f"{wanted} AS told").toArrow()
    found: list[Any] = answers.sort_by("place").column("told").to_pylist()
    return found
