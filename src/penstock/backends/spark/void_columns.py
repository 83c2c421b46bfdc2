"""Rows of Spark in Arrow, also with columns of the type VOID, in which every value is NULL: `array_repeat(NULL, 3)`.

PySpark casts what it has fetched, which leaves an array of VOID with fewer values than its offsets say, and asks Arrow
for a VOID that is NOT NULL, which it does not have. So such columns cross as texts, and get their type here.
"""

from __future__ import annotations

import re
from inspect import signature
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from penstock.backends.spark.typetext import type_text
from penstock.errors import Diagnostic, UnsupportedError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

_VOID_KEY = re.compile(r"map<void,")
_VOID = re.compile(r"\bvoid\b")


def has_void(schema: StructType) -> bool:
    """True if a column is of the type VOID, or has some of it within."""
    return any(_is_void(field.dataType) for field in schema.fields)


def fetched_arrow(frame: DataFrame) -> pa.Table:
    """The rows of a query in Arrow."""
    if not has_void(frame.schema):
        return frame.toArrow()
    schema = frame.schema
    places = [f"c{at}" for at in range(len(schema.fields))]  # names may occur twice
    chosen = [_as_text(place, field.dataType) for place, field in zip(places, schema.fields, strict=True)]
    rows = frame.toDF(*places).selectExpr(*chosen).toArrow().combine_chunks()
    wanted = arrow_schema(schema)
    columns = [
        pa.array(column.to_pylist(), item.type) if _is_void(field.dataType) else column
        for column, item, field in zip(rows.columns, wanted, schema.fields, strict=True)
    ]
    may_be_null = [field.nullable or _is_void(field.dataType) for field in schema.fields]
    found = [
        pa.field(item.name, column.type, nullable=nullable)
        for item, column, nullable in zip(wanted, columns, may_be_null, strict=True)
    ]
    return pa.Table.from_arrays(columns, schema=pa.schema(found))


def arrow_schema(schema: StructType) -> pa.Schema:
    """The types in which Arrow carries rows of a schema."""
    from pyspark.sql.pandas.types import to_arrow_schema  # noqa: PLC0415 - `check` goes without PySpark

    # Spark 4.2 asks for the zone of a TIMESTAMP; before that, UTC was what it took.
    zone: Any = {"timezone": "UTC"} if "timezone" in signature(to_arrow_schema).parameters else {}
    for field in schema.fields:
        if _VOID_KEY.search(kind := type_text(field.dataType)):
            message = f"the column {field.name}: a map whose keys are all NULL, {kind.upper()}"
            hint = "give the map a type: CAST(map() AS MAP<STRING, INT>)"
            raise UnsupportedError(Diagnostic("UNSUPPORTED_TYPE", message, hint=hint))
    return to_arrow_schema(_void_may_be_null(schema), **zone)


def _void_may_be_null(schema: StructType) -> StructType:
    """The schema with NULL allowed wherever VOID is: Arrow has no VOID that is NOT NULL."""
    from pyspark.sql.types import StructType  # noqa: PLC0415 - as above

    open_fields = schema.toNullable().fields
    pairs = zip(schema.fields, open_fields, strict=True)
    return StructType([nullable if _is_void(field.dataType) else field for field, nullable in pairs])


def _is_void(kind: Any) -> bool:
    return bool(_VOID.search(type_text(kind)))


def _as_text(place: str, kind: Any) -> str:
    text = type_text(kind)
    return f"CAST({place} AS {_VOID.sub('string', text)}) AS {place}" if _VOID.search(text) else place
