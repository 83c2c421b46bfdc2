"""Arrow columns changed at their leaves, however deep these lie in lists, structs and maps."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

# Gives the values of a leaf, whose number within its column it is told, depth first.
Change = Callable[[pa.Array, int], pa.Array]


def leaf_types(kind: pa.DataType) -> Iterator[pa.DataType]:
    """The types of a column's leaves, depth first."""
    if pa.types.is_map(kind):
        yield from leaf_types(kind.key_type)
        yield from leaf_types(kind.item_type)
    elif pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        yield from leaf_types(kind.value_type)
    elif pa.types.is_struct(kind):
        for item in kind:
            yield from leaf_types(item.type)
    else:
        yield kind


def changed_leaves(column: pa.ChunkedArray, change: Change) -> pa.ChunkedArray:
    """The column with its leaves changed."""
    chunks = [_changed(chunk, change, iter(range(1 << 30))) for chunk in column.chunks]
    if not chunks:
        chunks = [_changed(pa.array([], column.type), change, iter(range(1 << 30)))]
    return pa.chunked_array(chunks)


def _changed(values: pa.Array, change: Change, number: Iterator[int]) -> pa.Array:
    kind = values.type
    if not pa.types.is_nested(kind):
        return change(values, next(number))
    if values.offset:
        values = pa.concat_arrays([values])  # what is sliced off would not be left out of the parts below
    missing = values.is_null() if values.null_count else None
    if pa.types.is_map(kind):
        keys, items = _changed(values.keys, change, number), _changed(values.items, change, number)
        return pa.MapArray.from_arrays(values.offsets, keys, items, mask=missing)
    if pa.types.is_struct(kind):
        parts = [_changed(values.field(at), change, number) for at in range(kind.num_fields)]
        return pa.StructArray.from_arrays(parts, [item.name for item in kind], mask=missing)
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        make = pa.ListArray if pa.types.is_list(kind) else pa.LargeListArray
        return make.from_arrays(values.offsets, _changed(values.values, change, number), mask=missing)
    for _ in leaf_types(kind):
        next(number)
    return values


def in_micros(table: pa.Table) -> pa.Table:
    """Points in time and times of day in nanoseconds cut to microseconds, which are Spark's."""
    for at, column in enumerate(table.columns):
        if any(_is_nanos(kind) for kind in leaf_types(column.type)):
            table = table.set_column(at, table.field(at).name, changed_leaves(column, _cut))
    return table


def _is_nanos(kind: pa.DataType) -> bool:
    return bool((pa.types.is_timestamp(kind) or pa.types.is_time64(kind)) and kind.unit == "ns")


def _cut(values: pa.Array, _number: int) -> pa.Array:
    """The microsecond in which a nanosecond lies, before 1970 too."""
    if not _is_nanos(values.type):
        return values
    nanos = values.cast(pa.int64())
    quotient = pc.divide(nanos, 1000)
    below = pc.less(nanos, pc.multiply(quotient, 1000))  # division goes towards zero
    return pc.subtract(quotient, below.cast(pa.int64())).cast(_micros_of(values.type))


def _micros_of(kind: Any) -> pa.DataType:
    return pa.timestamp("us", tz=kind.tz) if pa.types.is_timestamp(kind) else pa.time64("us")
