"""Spark's schemas of declared columns, made without asking a JVM."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache

from pyspark.sql import types as T  # noqa: N812

from penstock.catalog.reserved import WEIGHT
from penstock.catalog.types import NOT_NULL, Type, struct_fields_as_written, type_arguments
from penstock.errors import Diagnostic, UnsupportedError

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
    "void": T.NullType(),
    "interval": T.CalendarIntervalType(),
}
_DECIMAL = re.compile(r"decimal\((\d+),\s*(-?\d+)\)")
_COLLATED = re.compile(r"(?i)string collate (\S+)")
_INTERVAL = re.compile(r"interval (\w+)(?: to (\w+))?")
_TIME = re.compile(r"time\((\d+)\)")
_MONTHS = ("year", "month")
_DAYS = ("day", "hour", "minute", "second")


@cache
def spark_type(kind: Type) -> T.DataType:
    """The type of that name, as Spark's `simpleString` and `type_text` write it; UnsupportedError if there is none."""
    lower = kind.lower()
    if lower in _PLAIN:
        return _PLAIN[lower]
    if match := _DECIMAL.fullmatch(lower):
        return T.DecimalType(int(match[1]), int(match[2]))
    if match := _COLLATED.fullmatch(kind):
        return T.StringType(match[1].upper())
    if match := _INTERVAL.fullmatch(lower):
        return _interval(match[1], match[2] or match[1])
    return _nested(kind)


def spark_schema(columns: Iterable[tuple[str, Type]], *, weighted: bool = False) -> T.StructType:
    """The schema of such columns; with the weight as the last of them if they are those of a change."""
    fields = [T.StructField(name, spark_type(kind)) for name, kind in columns]
    return T.StructType([*fields, weight_field()] if weighted else fields)


def weight_field() -> T.StructField:
    """The column of weights."""
    return T.StructField(WEIGHT, T.LongType(), nullable=False)


def _interval(first: str, last: str) -> T.DataType:
    if first in _MONTHS:
        return T.YearMonthIntervalType(_MONTHS.index(first), _MONTHS.index(last))
    return T.DayTimeIntervalType(_DAYS.index(first), _DAYS.index(last))


def _nested(kind: Type) -> T.DataType:
    head, items = type_arguments(kind)
    if head == "array":
        return T.ArrayType(spark_type(items[0]))
    if head == "map":
        return T.MapType(spark_type(items[0]), spark_type(items[1]))
    if head == "struct":
        return T.StructType([_field(name, item) for name, item in struct_fields_as_written(kind)])
    if head == "variant":
        return T.VariantType()
    if match := _TIME.fullmatch(head):
        return T.TimeType(int(match[1]))
    raise UnsupportedError(Diagnostic("UNSUPPORTED_TYPE", f"Spark has no type {kind.upper()}"))


def _field(name: str, kind: Type) -> T.StructField:
    plain = NOT_NULL.sub("", kind)
    return T.StructField(name, spark_type(plain), nullable=plain == kind)
