"""The Spark schema of columns that can lie in DuckDB, without asking a JVM."""

from __future__ import annotations

from functools import cache

from pyspark.sql import types as T  # noqa: N812

from penstock.backends.native.trace import Columns
from penstock.catalog.reserved import WEIGHT
from penstock.catalog.types import Type
from penstock.circuit.partials import decimal_shape

_PLAIN: dict[Type, T.DataType] = {
    "boolean": T.BooleanType(),
    "tinyint": T.ByteType(),
    "smallint": T.ShortType(),
    "int": T.IntegerType(),
    "bigint": T.LongType(),
    "float": T.FloatType(),
    "double": T.DoubleType(),
    "string": T.StringType(),
    "binary": T.BinaryType(),
    "date": T.DateType(),
    "timestamp": T.TimestampType(),
    "timestamp_ntz": T.TimestampNTZType(),
}


@cache
def _type_of(kind: Type) -> T.DataType:
    return _PLAIN[kind] if kind in _PLAIN else T.DecimalType(*decimal_shape(kind))


def change_schema(columns: Columns) -> T.StructType:
    """The schema of a change with those columns, the weight last."""
    fields = [T.StructField(name, _type_of(kind)) for name, kind in columns]
    return T.StructType([*fields, T.StructField(WEIGHT, T.LongType(), nullable=False)])
