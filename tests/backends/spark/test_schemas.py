"""Schemas made without a JVM are those that Spark makes of the same declarations."""

from __future__ import annotations

import pytest

from penstock.backends.spark.schemas import spark_schema, spark_type
from penstock.errors import UnsupportedError

_TYPES = (
    *("boolean", "tinyint", "smallint", "int", "bigint", "float", "double", "string", "binary", "date"),
    *("timestamp", "timestamp_ntz", "void", "decimal(38,18)", "decimal(5,0)", "variant", "time(3)"),
    *("string collate UNICODE_CI", "interval", "interval year to month", "interval day to second", "interval hour"),
    *("array<int>", "map<string,array<decimal(3,1)>>", "struct<a:int,`b c`:string>"),
    *("struct<`it``s`:array<struct<x:map<int,date>>>>", "struct<a:int not null,b:array<int>>"),
)


@pytest.mark.spark
@pytest.mark.parametrize("kind", _TYPES)
def test_a_type_is_that_of_spark(spark, kind):
    from pyspark.sql.types import DataType

    assert spark_type(kind) == DataType.fromDDL(kind)


def test_a_schema_has_its_columns_and_then_the_weight():
    found = spark_schema((("a", "int"), ("b c", "array<string>")), weighted=True)
    assert found.simpleString() == "struct<a:int,b c:array<string>,__weight:bigint>"


def test_a_type_that_spark_does_not_have_is_refused():
    with pytest.raises(UnsupportedError, match="Spark has no type HYPERCUBE"):
        spark_type("hypercube<int>")
