"""Types that lie in DuckDB as they lie in Spark, nested ones too: their names there, and in Arrow.

A TIMESTAMP lies as microseconds in UTC without a zone, so that DuckDB's own zones, and its extension for them, have no
say; a TIMESTAMP_NTZ lies likewise.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cache
from typing import TYPE_CHECKING

from penstock.backends.native.expressions.kinds import storage
from penstock.backends.native.proof import not_proven
from penstock.catalog.types import Type

if TYPE_CHECKING:
    import pyarrow as pa

_BYTES = {"BOOLEAN": 1, "TINYINT": 1, "SMALLINT": 2, "INTEGER": 4, "FLOAT": 4, "DATE": 4, "VARCHAR": 24, "BLOB": 24}
_BYTES["HUGEINT"] = 16
_NESTED_KEYS = re.compile(r"map<(array|struct)<")
_NESTED, _NESTED_BYTES = ("STRUCT(", "MAP("), 64


@cache
def stored(kind: Type | None) -> str:
    """DuckDB's name of a column's type; NotProvenError for one that is Spark's alone."""
    if kind is None:
        not_proven("a type that only Spark knows")
    if _NESTED_KEYS.search(kind):  # DuckDB has a NULL within a key behind all other values, Spark before them
        not_proven(f"values of type {kind} as a column")
    return storage(kind)


def is_nested(kind: Type) -> bool:
    """True for an ARRAY, a MAP or a STRUCT."""
    return "<" in kind


@cache
def in_arrow(kind: Type | None) -> pa.DataType:
    """A column's type as rows of Spark have it in Arrow; NotProvenError for one that is Spark's alone."""
    if kind is None:
        not_proven("a type that only Spark knows")
    stored(kind)
    from penstock.backends.columns import arrow_type  # noqa: PLC0415 - the same

    return arrow_type(kind)


def schema_in_arrow(columns: Iterable[tuple[str, Type | None]]) -> pa.Schema:
    """The same of columns."""
    import pyarrow as pa  # noqa: PLC0415 - as above

    return pa.schema([(name, in_arrow(kind)) for name, kind in columns])


def width(kinds: Sequence[str]) -> int:
    """About how many bytes a row of DuckDB types takes."""
    return sum(
        _NESTED_BYTES if kind.endswith("]") or kind.startswith(_NESTED) else _BYTES.get(kind, 8) for kind in kinds
    )


def from_arrow(table: pa.Table) -> pa.Table:
    """Rows of Spark as they lie here: times without their zone; nothing is copied."""
    import pyarrow as pa  # noqa: PLC0415 - as above

    return pa.table([_without_zone(column) for column in table.columns], names=table.column_names)


def _without_zone(column: pa.ChunkedArray) -> pa.ChunkedArray:
    import pyarrow as pa  # noqa: PLC0415 - as above

    kind = _lying(column.type)
    return column if kind == column.type else pa.chunked_array([chunk.cast(kind) for chunk in column.chunks], kind)


def _lying(kind: pa.DataType) -> pa.DataType:
    """The type without the zones of the times in it."""
    import pyarrow as pa  # noqa: PLC0415 - as above

    if pa.types.is_timestamp(kind):
        return kind if kind.tz is None else pa.timestamp("us")
    if pa.types.is_map(kind):
        return pa.map_(_lying(kind.key_type), _lying(kind.item_type))
    if pa.types.is_struct(kind):
        return pa.struct([part.with_type(_lying(part.type)) for part in kind.fields])
    return pa.list_(_lying(kind.value_type)) if pa.types.is_list(kind) else kind


def to_arrow(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """Rows that lie here as rows of Spark."""
    import pyarrow as pa  # noqa: PLC0415 - as above

    columns = [
        column if column.type == field.type else column.cast(field.type)
        for column, field in zip(table.columns, schema, strict=True)
    ]
    return pa.Table.from_arrays(columns, schema=schema)
