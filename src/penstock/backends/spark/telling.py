"""Values that only Spark can tell, for the process, which asks where it does not know them (`native.asked`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from penstock.catalog.types import FRACTIONAL

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_TEXT = "CAST(CAST(value AS {kind}) AS STRING)"
_MICROS = "unix_micros(CAST(try_cast(value AS {kind}) AS TIMESTAMP))"  # None for a text that is no such time


def told(spark: SparkSession, kind: str, values: Sequence[Any]) -> list[Any]:
    """The texts of numbers that are `double` or `float`.

    Of texts of JSON what stands at the path that `kind` is, as `$.a`; of other texts the microseconds since 1970 as a
    time of `kind`.
    """
    import pyarrow as pa  # noqa: PLC0415 - 100 ms that `check` need not wait
    from pyspark.sql.functions import expr, get_json_object  # noqa: PLC0415 - it is there with the session

    rows = spark.createDataFrame(pa.table({"place": list(range(len(values))), "value": list(values)}))
    if kind.startswith("$"):
        wanted = get_json_object("value", kind).cast("binary")  # escapes of half a letter may make no UTF-8
    else:
        wanted = expr((_TEXT if kind in FRACTIONAL else _MICROS).format(kind=kind))
    answers = rows.select("place", wanted.alias("told")).toArrow()
    found: list[Any] = answers.sort_by("place").column("told").to_pylist()
    return [item.decode(errors="replace") if isinstance(item, bytes) else item for item in found]
