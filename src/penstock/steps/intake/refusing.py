"""A step's rows without those for which an expression of a view raises; these go to `error_view`."""

from __future__ import annotations

import pyarrow as pa

from penstock.backends.columns import python_rows
from penstock.backends.rows import Row
from penstock.catalog.model import Table
from penstock.steps.rows.batch import Batch
from penstock.steps.rows.identity import identity_of
from penstock.steps.rows.refused import Refused, set_aside
from penstock.steps.rows.rejected import Rejections, row_json


def without_refused(batch: Batch, refused: Refused, rejections: Rejections) -> Batch:
    """The batch without rows for which a view raises; that they were received has moved the waterlines."""
    reasons = refused.of(batch.table)
    if not reasons:
        return batch
    identity = identity_of(batch.table)
    found = [reasons.get(identity(row)) for row in python_rows(batch.rows)]
    for index, reason in enumerate(found):
        if reason is not None:
            set_aside(rejections, batch.table, reason, batch.place(index), batch.json(index))
    return batch.chosen([index for index, reason in enumerate(found) if reason is None])


def without_refused_held(
    table: Table, released: pa.Table, refused: Refused, rejections: Rejections
) -> tuple[pa.Table, list[Row]]:
    """The rows that WATERMARK has released without those for which a view raises, and these, with their weights."""
    reasons = refused.of(table)
    if not reasons:
        return released, []
    identity = identity_of(table)
    rows = python_rows(released)
    found = [reasons.get(identity(row[:-1])) for row in rows]
    for row, reason in zip(rows, found, strict=True):
        if reason is not None:
            text = row_json(dict(zip(released.column_names, row[:-1], strict=False)))
            set_aside(rejections, table, reason, None, text)
    kept = released.filter(pa.array([reason is None for reason in found], pa.bool_()))
    return kept, [row for row, reason in zip(rows, found, strict=True) if reason is not None]
