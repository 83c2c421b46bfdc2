"""Types that Arrow carries to Python and back unchanged."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql.types import DataType, StructType


def driver_safe(schema: StructType) -> bool:
    """True if Arrow carries every type of the schema to Python and back unchanged."""
    return all(_safe(field.dataType) for field in schema.fields)


def _safe(kind: DataType) -> bool:
    from pyspark.sql import types as T  # noqa: N812, PLC0415 - `check` goes without PySpark

    if isinstance(kind, T.ArrayType):
        return _safe(kind.elementType)
    if isinstance(kind, T.MapType):
        return _safe(kind.keyType) and _safe(kind.valueType)
    if isinstance(kind, T.StructType):
        return bool(kind.fields) and driver_safe(kind)
    if isinstance(kind, T.StringType):
        return kind.simpleString() == "string"
    plain = (
        T.BooleanType,
        T.IntegralType,
        T.FractionalType,
        T.BinaryType,
        T.DateType,
        T.TimestampType,
        T.TimestampNTZType,
        T.NullType,
        *((T.TimeType,) if hasattr(T, "TimeType") else ()),
    )
    return isinstance(kind, plain)
