"""Spark's types as DuckDB's, and the types that values have together in ANSI mode."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.backends.native.expressions.digits import digits_of, together
from penstock.backends.native.proof import not_proven, quoted
from penstock.catalog.types import INTEGRAL, Type, is_decimal, is_numeric, split_types, struct_fields

PLAIN: dict[Type, str] = {
    "boolean": "BOOLEAN",
    "tinyint": "TINYINT",
    "smallint": "SMALLINT",
    "int": "INTEGER",
    "bigint": "BIGINT",
    "float": "FLOAT",
    "double": "DOUBLE",
    "string": "VARCHAR",
    "binary": "BLOB",
    "date": "DATE",
    "timestamp": "TIMESTAMP",
    "timestamp_ntz": "TIMESTAMP",
}
RANGE: dict[Type, tuple[int, int]] = {
    kind: (-(1 << bits), (1 << bits) - 1) for kind, bits in zip(INTEGRAL, (7, 15, 31, 63), strict=True)
}


def storage(kind: Type) -> str:
    """The type in which DuckDB holds values of a Spark type; raises NotProvenError where there is none."""
    if kind in PLAIN:
        return PLAIN[kind]
    found = digits_of(kind)
    if found is not None:
        return found.type.upper()
    if kind.startswith("array<"):
        return storage(kind[6:-1]) + "[]"
    if kind.startswith("map<"):
        return f"MAP({', '.join(storage(item) for item in split_types(kind[4:-1]))})"
    fields = struct_fields(kind) if kind.startswith("struct<") else []
    if not fields or len({name.lower() for name, _ in fields}) < len(fields):
        not_proven(f"values of the type {kind}")
    return f"STRUCT({', '.join(f'{quoted(name)} {storage(of)}' for name, of in fields)})"


def common(kinds: Sequence[Type]) -> Type | None:
    """The type that Spark gives values one of which is the answer (CASE, COALESCE, IN); None where none is proven."""
    found: Type = "void"
    for kind in kinds:
        wider = _wider(found, kind)
        if wider is None:
            return None
        found = wider
    return found


def _wider(left: Type, right: Type) -> Type | None:
    if right in (left, "void"):
        return left
    if left == "void":
        return right
    if "string" in (left, right):
        return _beside_text(right if left == "string" else left)
    if left in INTEGRAL and right in INTEGRAL:
        return max(left, right, key=INTEGRAL.index)
    if is_numeric(left) and is_numeric(right):
        return _wider_number(left, right)
    if {left, right} in ({"date", "timestamp"}, {"timestamp", "timestamp_ntz"}):
        return "timestamp"
    return "timestamp_ntz" if {left, right} == {"date", "timestamp_ntz"} else None


def _beside_text(other: Type) -> Type | None:
    """A text is read as what stands beside it; beside a whole number as BIGINT, beside any other one as DOUBLE."""
    if is_numeric(other):
        return "bigint" if other in INTEGRAL else "double"
    return other if other in ("date", "timestamp", "timestamp_ntz", "boolean") else None


def _wider_number(left: Type, right: Type) -> Type | None:
    if not (is_decimal(left) or is_decimal(right)):
        return "double"  # also for a FLOAT beside a whole number
    one, two = digits_of(left), digits_of(right)
    if one is None or two is None:
        return "double"
    both = together(one, two)
    return both.type if both.fits else None
