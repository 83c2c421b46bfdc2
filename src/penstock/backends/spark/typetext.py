"""A Spark type as the catalog writes types: names of fields in back quotes where they need them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.catalog.types import Type, struct_type

if TYPE_CHECKING:
    from pyspark.sql.types import DataType


def type_text(kind: DataType) -> Type:
    """`struct<a:int,`b c`:map<int,string>>`, which Spark's own `simpleString` does not quote."""
    from pyspark.sql import types as T  # noqa: N812, PLC0415 - the command line starts without pyspark

    if isinstance(kind, T.StructType):
        return struct_type((field.name, type_text(field.dataType)) for field in kind.fields)
    if isinstance(kind, T.ArrayType):
        return f"array<{type_text(kind.elementType)}>"
    if isinstance(kind, T.MapType):
        return f"map<{type_text(kind.keyType)},{type_text(kind.valueType)}>"
    return kind.simpleString()
