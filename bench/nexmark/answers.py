"""An answer as two numbers, the same on every system: how many rows, and the sum of their hashes.

The sum does not depend on the order of rows, and a row taken back is subtracted, so a system that sends changes and one
that sends a finished answer come to the same numbers. A row's hash is the lower half of Spark's `xxhash64` over its
columns, after types that systems do not share have become ones that they do: decimals thousandths, averages whole
numbers (Flink's are), times microseconds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

_LOWER_HALF = 0xFFFFFFFF


@dataclass(frozen=True)
class Answer:
    """Rows, and the sum of their hashes."""

    rows: int = 0
    checksum: int = 0

    def __add__(self, other: Answer) -> Answer:
        return Answer(self.rows + other.rows, self.checksum + other.checksum)


def answer_of(frame: DataFrame, columns: Sequence[str] | None = None, weight: str | None = None) -> Answer:
    """The answer that a DataFrame holds, in one action; each row counts `weight` times, and once without."""
    found = frame.selectExpr(*sums(frame.schema, columns, weight)).first()
    assert found is not None  # noqa: S101 - an aggregate without groups has one row
    return Answer(int(found[0]), int(found[1]))


def sums(schema: StructType, columns: Sequence[str] | None = None, weight: str | None = None) -> list[str]:
    """The two aggregates of Spark SQL that make an answer."""
    names = [name for name in schema.names if name != weight] if columns is None else list(columns)
    times = "1L" if weight is None else f"`{weight}`"
    return [f"coalesce(sum({times}), 0L)", f"coalesce(sum({times} * {row_hash(schema, names)}), 0L)"]


def row_hash(schema: StructType, columns: Sequence[str]) -> str:
    """The hash of a row, in Spark SQL."""
    plain = ", ".join(_plain(name, schema[name].dataType) for name in columns)
    return f"(xxhash64({plain}) & {_LOWER_HALF}L)"


def _plain(name: str, kind: Any) -> str:
    from pyspark.sql import types as T  # noqa: N812

    quoted = f"`{name}`"
    if isinstance(kind, T.TimestampType):
        return f"unix_micros({quoted})"
    if isinstance(kind, T.TimestampNTZType):
        return f"unix_micros(CAST({quoted} AS TIMESTAMP))"
    if isinstance(kind, T.DecimalType):
        return f"CAST({quoted} * 1000 AS BIGINT)" if kind.scale else f"CAST({quoted} AS BIGINT)"
    if isinstance(kind, T.FractionalType):
        return f"CAST(floor({quoted}) AS BIGINT)"
    return f"CAST({quoted} AS BIGINT)" if isinstance(kind, T.IntegralType) else quoted
