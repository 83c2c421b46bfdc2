"""Column types, as Spark's own canonical names.

A type is the text that Spark's `simpleString` gives: `int`, `decimal(10,2)`, `array<int>`,
`struct<a:int>`. `None` stands for "not certain without Spark"; the runtime asks Spark once and fills it in.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from types import MappingProxyType

Type = str

INTEGRAL = ("tinyint", "smallint", "int", "bigint")
FRACTIONAL = ("float", "double")
TEMPORAL = ("date", "timestamp", "timestamp_ntz")
_OF_A_LENGTH = re.compile(r"(?i)\b(varchar|char)\(\d+\)")
# Whole numbers without a sign: the greatest value, and the type that carries them.
UNSIGNED: Mapping[Type, tuple[int, Type]] = MappingProxyType(
    {
        "tinyint unsigned": ((1 << 8) - 1, "smallint"),
        "smallint unsigned": ((1 << 16) - 1, "int"),
        "int unsigned": ((1 << 32) - 1, "bigint"),
        "bigint unsigned": ((1 << 64) - 1, "decimal(20,0)"),
    }
)
_UNSIGNED = re.compile(r"(?i)\b(?:tinyint|smallint|int|bigint) unsigned\b")
NOT_NULL = re.compile(r"(?i)\s+not null$")


def is_decimal(kind: Type) -> bool:
    """True if the type is an exact DECIMAL."""
    return kind.startswith("decimal")


def is_numeric(kind: Type) -> bool:
    """True if arithmetic is defined on the type."""
    return kind in INTEGRAL or kind in FRACTIONAL or is_decimal(kind)


def is_temporal(kind: Type) -> bool:
    """True if the type is a point in time."""
    return kind in TEMPORAL


def is_interval(kind: Type) -> bool:
    """True if the type is a span of time."""
    return kind.startswith("interval")


def plain_type(kind: Type) -> Type:
    """The type in which the rows of a column are carried: a VARCHAR is a STRING whose length has been checked.

    A whole number without a sign is one of the next wider type.
    """
    plain = _OF_A_LENGTH.sub("string", kind)
    return _UNSIGNED.sub(lambda match: UNSIGNED[match[0].lower()][1], plain)


def is_checked(kind: Type) -> bool:
    """True if values are checked one by one: their length or range is no part of the type that carries them."""
    return bool(_OF_A_LENGTH.search(kind)) or is_unsigned(kind)


def is_unsigned(kind: Type) -> bool:
    """True for whole numbers without a sign, and for what holds some."""
    return bool(_UNSIGNED.search(kind))


def plain_name(name: str) -> bool:
    """True if a name needs no back quotes."""
    return name.isascii() and name.isidentifier()


def struct_type(fields: Iterable[tuple[str, Type]]) -> Type:
    """The type of a STRUCT with these fields."""
    shown = ((name if plain_name(name) else "`" + name.replace("`", "``") + "`", kind) for name, kind in fields)
    return f"struct<{','.join(f'{name}:{kind}' for name, kind in shown)}>"


def struct_fields(kind: Type) -> list[tuple[str, Type]]:
    """Names and types of a STRUCT's fields; a NOT NULL behind a field's type is left out."""
    return [(name, NOT_NULL.sub("", of)) for name, of in struct_fields_as_written(kind)]


def struct_fields_as_written(kind: Type) -> list[tuple[str, Type]]:
    """Names and types of a STRUCT's fields, with a NOT NULL behind a field's type."""
    parted = (_parted(item) for item in type_arguments(kind)[1])
    return [(name, of.strip()) for name, _, of in parted]


def type_arguments(kind: Type) -> tuple[str, list[str]]:
    """`map<int,array<string>>` as ('map', ['int', 'array<string>'])."""
    head, bracket, rest = kind.partition("<")
    return (head.strip().lower(), split_types(rest.rstrip()[:-1])) if bracket else (kind.lower(), [])


def split_types(text: str) -> list[str]:
    """`a:int,b:array<int>` at its outer commas; what stands in back quotes is a name."""
    parts, depth, start, quoted = [], 0, 0, False
    for index, letter in enumerate(text):
        quoted ^= letter == "`"
        depth += 0 if quoted else (letter in "<(") - (letter in ">)")
        if letter == "," and depth == 0 and not quoted:
            parts.append(text[start:index].strip())
            start = index + 1
    return [*parts, text[start:].strip()] if text else []


def _parted(item: str) -> tuple[str, str, str]:
    """A field at its colon; a quoted name without its quotes."""
    if not item.startswith("`"):
        name, colon, kind = item.partition(":")
        return name.strip(), colon, kind
    end = item.index("`", 1)
    while item[end + 1 : end + 2] == "`":
        end = item.index("`", end + 2)
    return item[1:end].replace("``", "`"), ":", item[end + 1 :].lstrip(" :")


def lacks_equality(kind: Type | None) -> bool:
    """True if a MAP or a VARIANT is in it: equal values may look different, and Spark finds no distinct ones."""
    return kind is not None and ("map<" in kind or "variant" in kind)


def is_collated(kind: Type | None) -> bool:
    """True if values of the type can be equal without being the same."""
    return kind is not None and "collate" in kind.lower()
