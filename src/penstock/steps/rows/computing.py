"""Computed columns that a table keeps: their values for rows that have come, and rows for which there is none.

A deletion by key has none: it says of which row, and not what was in it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pyarrow as pa

from penstock.backends.columns import arrow_schema
from penstock.backends.sound import is_sound
from penstock.engine.terms import TermRaisedError, Terms
from penstock.steps.rows.batch import DELETE, Batch, Operated, bad_value, reject_row
from penstock.steps.rows.rejected import Rejections

_BEYOND = "found text that is not UTF-8, or a time beyond the years 1 to 9999"


def completed(batch: Batch, terms: Terms, rejections: Rejections) -> Batch:
    """The batch with the values; a row for which a term raises is a bad one, as one that does not fit its table."""
    if batch.complete or not len(batch):
        return batch
    deleting = batch.table.key and batch.operations is not None and DELETE in batch.operations
    asked = [at for at in range(len(batch)) if batch.operation(at) != DELETE] if deleting else range(len(batch))
    values, raised = _values(terms, batch.rows.take(pa.array(asked, pa.int64())) if deleting else batch.rows)
    reasons = {asked[at]: why for at, why in raised.items()}
    found = replace(batch, rows=_with(batch.rows, values, asked), complete=True)
    for index, why in reasons.items():
        place = batch.place(index)
        error = bad_value(batch.table, f"{place}, column {terms.told}", why)
        if not rejections.tolerant:
            raise error
        reject_row(rejections, batch.table, place, error, Operated(batch.operation(index), batch.given(index)))
    if not reasons:
        return found
    return replace(found.chosen([at for at in range(len(batch)) if at not in reasons]), complete=True)


def _with(rows: pa.Table, values: pa.Table, asked: Sequence[int]) -> pa.Table:
    """The rows with the values of those that were asked for, and NULL for the others."""
    if len(asked) < rows.num_rows:
        places = dict(zip(asked, range(len(asked)), strict=True))
        values = values.take(pa.array([places.get(at) for at in range(rows.num_rows)], pa.int64()))
    for name in values.column_names:
        at = rows.schema.get_field_index(name)
        rows = rows.set_column(at, rows.field(at), values.column(name))
    return rows


def _values(terms: Terms, rows: pa.Table) -> tuple[pa.Table, dict[int, str]]:
    """The values for each row, and by its place why a row has none, whose values are NULL.

    Rows that raise are found by halves: neither engine says which one it was.
    """
    if not rows.num_rows:
        return arrow_schema(terms.columns).empty_table(), {}
    try:
        found = terms.values(rows)
        why = None if all(map(is_sound, found.columns)) else _BEYOND
    except TermRaisedError as error:
        found, why = None, str(error)
    if found is not None and why is None:
        return found, {}
    if rows.num_rows == 1:
        return _nothing(terms), {0: str(why)}
    half = rows.num_rows // 2
    first, second = _values(terms, rows.slice(0, half)), _values(terms, rows.slice(half))
    reasons = first[1] | {half + place: reason for place, reason in second[1].items()}
    return pa.concat_tables([first[0], second[0]]), reasons


def _nothing(terms: Terms) -> pa.Table:
    schema = arrow_schema(terms.columns)
    return pa.Table.from_arrays([pa.nulls(1, field.type) for field in schema], schema=schema)
