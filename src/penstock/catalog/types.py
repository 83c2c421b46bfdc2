"""Column types, as Spark's own canonical names.

A type is the text that Spark's `simpleString` gives: `int`, `decimal(10,2)`, `array<int>`,
`struct<a:int>`. `None` stands for "not certain without Spark"; the runtime asks Spark once and fills it in.
"""

from __future__ import annotations

Type = str

INTEGRAL = ("tinyint", "smallint", "int", "bigint")
FRACTIONAL = ("float", "double")
TEMPORAL = ("date", "timestamp", "timestamp_ntz")


def is_decimal(kind: Type) -> bool:
    """Whether the type is an exact DECIMAL."""
    return kind.startswith("decimal")


def is_numeric(kind: Type) -> bool:
    """Whether arithmetic is defined on the type."""
    return kind in INTEGRAL or kind in FRACTIONAL or is_decimal(kind)


def is_temporal(kind: Type) -> bool:
    """Whether the type is a point in time."""
    return kind in TEMPORAL


def is_interval(kind: Type) -> bool:
    """Whether the type is a span of time."""
    return kind.startswith("interval")
