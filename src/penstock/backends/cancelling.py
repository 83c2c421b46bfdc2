"""Rows of a change that cancel one another, added up in Arrow where it finds the same rows equal as Spark."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.types as kinds

from penstock.backends.columns import fitted
from penstock.catalog.reserved import WEIGHT

_PLAIN = (kinds.is_integer, kinds.is_boolean, kinds.is_string, kinds.is_date, kinds.is_timestamp, kinds.is_decimal)


def groups_alike(schema: pa.Schema, *, fractions: bool = False) -> bool:
    """True if Arrow finds the same rows equal as Spark: not floating point, where zeros and NaNs have several forms.

    Of `fractions` with one form of each it does as well.
    """
    tests = (*_PLAIN, kinds.is_floating) if fractions else _PLAIN
    return all(any(test(field.type) for test in tests) for field in schema)


def equal_added_up(table: pa.Table) -> pa.Table | None:
    """Rows that Spark finds equal added up, cancelled ones gone; None where Arrow finds others equal."""
    return added_up(with_one_zero(table)) if groups_alike(table.schema, fractions=True) else None


def with_one_zero(table: pa.Table) -> pa.Table:
    """The rows with one form of zero and of NaN, as equal ones have in a group; the same table if it has neither."""
    for place, found in enumerate(table.schema):
        if kinds.is_floating(found.type):
            import pyarrow.compute as pc  # noqa: PLC0415 - 30 ms that `check` need not wait

            values = table.column(place)
            one = pc.if_else(
                pc.is_nan(values), pa.scalar(float("nan"), found.type), pc.add(values, pa.scalar(0.0, found.type))
            )
            table = table.set_column(place, found, one)
    return table


def without_cancelled(table: pa.Table) -> pa.Table | None:
    """Rows that are equal to the last bit added up and cancelled ones gone; None where Arrow cannot tell."""
    bits = {pa.float32(): pa.int32(), pa.float64(): pa.int64()}
    whole = table.combine_chunks()
    if any(kinds.is_nested(field.type) or kinds.is_null(field.type) for field in whole.schema):
        return None
    columns = [_viewed(column, bits.get(column.type, column.type)) for column in whole.columns]
    summed = added_up(pa.Table.from_arrays(columns, names=whole.column_names))
    pairs = zip(summed.combine_chunks().columns, whole.schema.types, strict=True)
    return pa.Table.from_arrays([_viewed(column, kind) for column, kind in pairs], schema=whole.schema)


def _viewed(column: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    """The same bits as another type."""
    return column if column.type == kind else pa.chunked_array([part.view(kind) for part in column.chunks], kind)


def added_up(table: pa.Table) -> pa.Table:
    """Equal rows added up and cancelled ones gone."""
    import pyarrow.compute as pc  # noqa: PLC0415 - 30 ms that `check` need not wait

    places = [f"c{at}" for at in range(table.num_columns)]  # names may occur twice
    weight = places[table.column_names.index(WEIGHT)]
    grouped = table.rename_columns(places).group_by([place for place in places if place != weight])
    summed = grouped.aggregate([(weight, "sum")]).rename_columns({f"{weight}_sum": weight})
    kept = summed.filter(pc.not_equal(summed[weight], 0)).select(places)
    return pa.Table.from_arrays(kept.columns, schema=table.schema)


def may_be_null(table: pa.Table) -> pa.Table:
    """The table without a word on what holds no NULL, at any depth: Spark finds that anew for each change."""
    return fitted(table, pa.schema([_nullable(item) for item in table.schema]))


def _nullable(found: pa.Field) -> pa.Field:
    kind = found.type
    if kinds.is_struct(kind):
        kind = pa.struct([_nullable(item) for item in kind])
    elif kinds.is_list(kind):
        kind = pa.list_(_nullable(kind.value_field))
    elif kinds.is_map(kind):
        kind = pa.map_(_of_kind(kind.key_field), _nullable(kind.item_field))
    return found.with_type(kind).with_nullable(True)  # noqa: FBT003


def _of_kind(key: pa.Field) -> pa.Field:
    """A key of a map, which is never NULL, its parts as they may be."""
    return _nullable(key).with_nullable(False)  # noqa: FBT003
