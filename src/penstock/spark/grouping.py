"""Rows as keys: grouping, and the hash that places a key, for every type that Spark can compare.

Spark groups by most types itself. A VARIANT, and whatever holds one, is grouped by its text. The hash must agree with
equality: -0.0 with 0.0, one NaN with another, a MAP with the same entries in another order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.plan.scalar import quoted

if TYPE_CHECKING:
    from pyspark.sql.types import DataType, StructType


def consolidation(schema: StructType, source: str, weight: str) -> str:
    """The query for `source` with equal rows added up and cancelled ones gone, its columns in the schema's order."""
    keys, columns = [], []
    for field in schema.fields:
        name = quoted(field.name)
        if field.name == weight:
            columns.append(f"sum({name}) AS {name}")
        elif holds_variant(field.dataType):
            keys.append(f"cast({name} as string)")
            columns.append(f"first({name}) AS {name}")
        else:
            keys.append(name)
            columns.append(name)
    by = f" GROUP BY {', '.join(keys)}" if keys else ""
    return f"SELECT {', '.join(columns)} FROM {source}{by} HAVING sum({quoted(weight)}) <> 0"


def holds_variant(kind: DataType) -> bool:
    """Whether the type is a VARIANT or contains one."""
    return "variant" in kind.simpleString()


def hash_text(terms: list[tuple[str, DataType]]) -> str:
    """Spark SQL for the BIGINT that places a key; `terms` are its expressions with their types."""
    if not terms:
        return "0L"
    return f"xxhash64({', '.join(_normal(text, kind) for text, kind in terms)})"


def _normal(text: str, kind: DataType) -> str:
    from pyspark.sql import types as T  # noqa: N812

    if isinstance(kind, T.FloatType | T.DoubleType):
        suffix = "cast('NaN' as double)"
        return f"(CASE WHEN isnan({text}) THEN {suffix} WHEN ({text}) = 0 THEN 0D ELSE cast({text} as double) END)"
    if isinstance(kind, T.StringType) and kind.simpleString() != "string":
        return f"collation_key({text})" if hasattr(T, "collation_key") else f"lower(cast({text} as string))"
    if isinstance(kind, T.MapType):
        return f"to_json(array_sort(map_entries({text})))" if _json_safe(kind) else f"cardinality({text})"
    if isinstance(kind, T.ArrayType | T.StructType):
        return f"cast({text} as string)" if holds_float(kind) or "map<" in kind.simpleString() else text
    if holds_variant(kind):
        return f"cast({text} as string)"
    return text


def _json_safe(kind: DataType) -> bool:
    name = kind.simpleString()
    return not any(part in name for part in ("float", "double", "map<map", "variant", "interval"))


def holds_float(kind: DataType) -> bool:
    """Whether a nested type contains FLOAT or DOUBLE, whose zeros and NaNs have several bit patterns."""
    name = kind.simpleString()
    return "float" in name or "double" in name


def common_type(left: DataType, right: DataType) -> str | None:
    """The type in which two sides of an equality hash alike; None where only Spark's comparison can tell."""
    from pyspark.sql import types as T  # noqa: N812

    if left == right and not holds_float(left):
        return left.simpleString() if not isinstance(left, T.StringType) else "string"
    if isinstance(left, T.StringType) and isinstance(right, T.StringType):
        plain = left.simpleString() == right.simpleString() or {left.simpleString()[:4], right.simpleString()[:4]} <= {
            "varc",
            "char",
            "stri",
        }
        return "string" if plain and "collate" not in left.simpleString() + right.simpleString() else None
    if isinstance(left, T.IntegralType) and isinstance(right, T.IntegralType):
        return "bigint"
    fractional = (T.FloatType, T.DoubleType)
    if isinstance(left, T.NumericType) and isinstance(right, T.NumericType):
        if isinstance(left, fractional) or isinstance(right, fractional):
            return "double" if not isinstance(left, T.DecimalType) and not isinstance(right, T.DecimalType) else None
        return _common_decimal(left, right)
    return None


def _common_decimal(left: DataType, right: DataType) -> str | None:
    shapes = [_decimal(kind) for kind in (left, right)]
    scale = max(shape[1] for shape in shapes)
    digits = max(shape[0] - shape[1] for shape in shapes)
    return f"decimal({digits + scale},{scale})" if digits + scale <= 38 else None  # noqa: PLR2004


def _decimal(kind: DataType) -> tuple[int, int]:
    from pyspark.sql import types as T  # noqa: N812

    if isinstance(kind, T.DecimalType):
        return kind.precision, kind.scale
    return {"tinyint": 3, "smallint": 5, "int": 10}.get(kind.simpleString(), 20), 0
