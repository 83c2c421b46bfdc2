"""The classes of which Spark's schemas consist: for what is remembered of operators."""

from __future__ import annotations


def is_schema_class(found: type) -> bool:
    """True for a type, or a field, of Spark's; starts nothing, and imports nothing that is not there."""
    if found.__module__ != "pyspark.sql.types":
        return False
    from pyspark.sql.types import DataType, StructField  # noqa: PLC0415 - a process without Spark's types has none

    return issubclass(found, (DataType, StructField))
