"""The type that values of several types have together, where that is certain."""

from __future__ import annotations

from penstock.catalog.types import INTEGRAL, Type, is_decimal, struct_fields, struct_type, type_arguments

# Stands for a part of a nested type that is not certain, so that the names beside it are known all the same.
UNCERTAIN = "\0"
MOST_DIGITS = 38
_INT_DIGITS = {"tinyint": 3, "smallint": 5, "int": 10, "bigint": 20}


def common_type(kinds: list[Type | None]) -> Type | None:
    """The type that Spark gives values of several types (CASE, COALESCE, UNION), where certain."""
    real = [kind for kind in kinds if kind != "void"]
    if not real or any(kind is None for kind in real):
        return None
    first = real[0]
    for kind in real[1:]:
        found = _wider(first, kind)
        if found is None:
            return None
        first = found
    return first


def _wider(left: Type | None, right: Type | None) -> Type | None:
    if left is None or right is None or left == right:
        return left if left == right else None
    if "<" in left and "<" in right:
        return _wider_nested(left, right)
    if left in INTEGRAL and right in INTEGRAL:
        return max(left, right, key=INTEGRAL.index)
    if {left, right} <= {"int", "smallint", "tinyint", "double"} or {left, right} in (
        {"bigint", "double"},
        {"float", "double"},
    ):
        return "double"
    if {left, right} == {"date", "timestamp"}:
        return "timestamp"
    if as_decimal(left) and as_decimal(right):
        return _wider_decimal(left, right)
    return None


def _wider_nested(left: Type, right: Type) -> Type | None:
    """Part by part; the fields of a STRUCT must have the same names, and the first ones are kept."""
    (head, one), (other_head, two) = type_arguments(left), type_arguments(right)
    if head != other_head or len(one) != len(two):
        return None
    if head != "struct":
        parts = [_wider_part(*pair) for pair in zip(one, two, strict=True)]
        return None if None in parts else f"{head}<{','.join(map(str, parts))}>"
    fields = [
        (name, _wider_part(of, other) if name.lower() == same.lower() else None)
        for (name, of), (same, other) in zip(struct_fields(left), struct_fields(right), strict=True)
    ]
    known = [(name, of) for name, of in fields if of is not None]
    return struct_type(known) if len(known) == len(fields) else None


def _wider_part(left: Type, right: Type) -> Type | None:
    if UNCERTAIN in (left, right):
        return UNCERTAIN
    return common_type([left, right]) if left != right else left


def as_decimal(kind: Type) -> tuple[int, int] | None:
    """Digits and scale of an exact number's type, None for another type."""
    if is_decimal(kind):
        if "(" not in kind:
            return 10, 0
        digits, scale = kind[kind.index("(") + 1 : -1].split(",")
        return int(digits), int(scale)
    return (_INT_DIGITS[kind], 0) if kind in INTEGRAL else None


def _wider_decimal(left: Type, right: Type) -> Type | None:
    (p1, s1), (p2, s2) = as_decimal(left) or (0, 0), as_decimal(right) or (0, 0)
    scale = max(s1, s2)
    digits = max(p1 - s1, p2 - s2) + scale
    return f"decimal({digits},{scale})" if digits <= MOST_DIGITS else None
