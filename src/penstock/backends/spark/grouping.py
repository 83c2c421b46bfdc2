"""Rows as keys: grouping, and the hash that places a key, for every type that Spark can compare.

Spark groups by most types itself. A VARIANT is grouped by its text and its type, what holds one by its text. Rows that
differ in letters that their collation does not tell apart are different rows: one can come while the other goes. The
hash must agree with equality: -0.0 with 0.0, one NaN with another, a MAP with the same entries in another order, texts
that their collation holds equal. It may be the same for more: whoever finds rows by it compares their keys as well.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from penstock.plan.scalar import quoted

if TYPE_CHECKING:
    from pyspark.sql.types import DataType, StructType


def consolidation(schema: StructType, source: str, weight: str, border: str | None = None) -> str:
    """The query for `source` with equal rows added up and cancelled ones gone, its columns in the schema's order.

    Where `source` has a column `border`, it comes last as its largest value, and cancelled rows stay.
    """
    keys, columns = [], []
    for field in schema.fields:
        name = quoted(field.name)
        if field.name == weight:
            columns.append(f"sum({name}) AS {name}")
        else:
            identity = _identity(name, field.dataType)
            keys.append(identity)
            columns.append(name if identity == name else f"first({name}) AS {name}")
    by = f" GROUP BY {', '.join(keys)}" if keys else ""
    if border is not None:
        return f"SELECT {', '.join([*columns, f'max({border}) AS {border}'])} FROM {source}{by}"
    return f"SELECT {', '.join(columns)} FROM {source}{by} HAVING sum({quoted(weight)}) <> 0"


def _identity(text: str, kind: DataType, depth: int = 0) -> str:
    """An expression that tells apart values that Spark cannot group, or groups though they differ; else the value.

    Spark cannot group VARIANTs. It groups MAPs in any order of their entries, and texts that a collation holds equal.
    """
    from pyspark.sql import types as T  # noqa: N812, PLC0415 - `check` goes without PySpark

    if not any(part in kind.simpleString() for part in ("variant", "map<", " collate ")):
        return text
    within = _within(text, kind, _identity, depth)
    if within is not None:
        return within
    if isinstance(kind, T.StringType):
        return f"cast({text} as string)"
    return f"if(({text}) IS NULL, NULL, struct(cast({text} as string), schema_of_variant({text})))"


def holds_variant(kind: DataType) -> bool:
    """True if the type is a VARIANT or contains one."""
    return "variant" in kind.simpleString()


def hash_text(terms: list[tuple[str, DataType]]) -> str:
    """Spark SQL for the BIGINT that places a key; `terms` are its expressions with their types."""
    if not terms:
        return "0L"
    return f"xxhash64({', '.join(_normal(text, kind) for text, kind in terms)})"


def _normal(text: str, kind: DataType, depth: int = 0) -> str:
    """An expression that is the same for values that Spark finds equal, of which it can be the same for others too."""
    from pyspark.sql import types as T  # noqa: N812, PLC0415 - `check` goes without PySpark

    if isinstance(kind, T.FloatType | T.DoubleType):
        nan = "cast('NaN' as double)"
        return f"(CASE WHEN isnan({text}) THEN {nan} WHEN ({text}) = 0 THEN 0D ELSE cast({text} as double) END)"
    if isinstance(kind, T.StringType):
        return _folded(text, kind)
    if _hashes_as_it_is(kind):
        return text
    if isinstance(kind, T.MapType):
        # The entries of equal maps may stand in another order; hashes can be sorted whatever was hashed.
        return f"array_sort({_within(text, kind, _normal, depth, entry='xxhash64')})"
    return _within(text, kind, _normal, depth) or f"cast({text} as string)"


def _within(
    text: str, kind: DataType, part: Callable[[str, DataType, int], str], depth: int, *, entry: str = "struct"
) -> str | None:
    """An ARRAY or a STRUCT of what `part` makes of its parts, a MAP as the array of its entries; None for other types.

    `depth` tells the variables of lambdas within each other apart.
    """
    from pyspark.sql import types as T  # noqa: N812, PLC0415 - `check` goes without PySpark

    name = f"__x{depth}"
    if isinstance(kind, T.ArrayType):
        return f"transform({text}, {name} -> {part(name, kind.elementType, depth + 1)})"
    if isinstance(kind, T.StructType):
        parts = (part(f"({text}).{quoted(item.name)}", item.dataType, depth) for item in kind.fields)
        return f"if(({text}) IS NULL, NULL, struct({', '.join(parts)}))"
    if isinstance(kind, T.MapType):
        key, value = part(f"{name}.key", kind.keyType, depth + 1), part(f"{name}.value", kind.valueType, depth + 1)
        return f"transform(map_entries({text}), {name} -> {entry}({key}, {value}))"
    return None


def _hashes_as_it_is(kind: DataType) -> bool:
    """True if equal values have equal bytes all the way down."""
    name = kind.simpleString()
    return not any(part in name for part in ("float", "double", "map<", "variant", "collate"))


def _folded(text: str, kind: DataType) -> str:
    """A text as its collation compares it. What only ICU can fold has one hash for all values."""
    words = kind.simpleString().upper().partition(" COLLATE ")[2].split("_")
    if not words[0]:
        return text
    folded = f"cast({text} as string)"
    if "RTRIM" in words:
        folded = f"rtrim({folded})"
    if words[0] != "UTF8":
        return f"if(({text}) IS NULL, NULL, '')"
    # Lower case depends on the neighbours for one letter alone: sigma at a word's end.
    return f"replace(lower({folded}), '\u03c2', '\u03c3')" if "LCASE" in words else folded


def common_type(left: DataType, right: DataType) -> str | None:
    """The type in which two sides of an equality hash alike; None where only Spark's comparison can tell."""
    from pyspark.sql import types as T  # noqa: N812, PLC0415 - `check` goes without PySpark

    if isinstance(left, T.StringType) and isinstance(right, T.StringType):
        kinds = {_collated(left), _collated(right)}
        return kinds.pop() if len(kinds) == 1 else None
    if left == right:
        return left.simpleString()
    if isinstance(left, T.IntegralType) and isinstance(right, T.IntegralType):
        return "bigint"
    fractional = (T.FloatType, T.DoubleType)
    if isinstance(left, T.NumericType) and isinstance(right, T.NumericType):
        if isinstance(left, fractional) or isinstance(right, fractional):
            return "double" if not isinstance(left, T.DecimalType) and not isinstance(right, T.DecimalType) else None
        return _common_decimal(left, right)
    return None


def _collated(kind: DataType) -> str:
    """A type of text without its length."""
    name = kind.simpleString()
    return name if " collate " in name else "string"


def _common_decimal(left: DataType, right: DataType) -> str | None:
    shapes = [_decimal(kind) for kind in (left, right)]
    scale = max(shape[1] for shape in shapes)
    digits = max(shape[0] - shape[1] for shape in shapes)
    return f"decimal({digits + scale},{scale})" if digits + scale <= 38 else None  # noqa: PLR2004


def _decimal(kind: DataType) -> tuple[int, int]:
    from pyspark.sql import types as T  # noqa: N812, PLC0415 - `check` goes without PySpark

    if isinstance(kind, T.DecimalType):
        return kind.precision, kind.scale
    return {"tinyint": 3, "smallint": 5, "int": 10}.get(kind.simpleString(), 20), 0
