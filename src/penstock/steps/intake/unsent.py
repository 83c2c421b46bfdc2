"""Values that a source has not sent, since they are as they were: those of the row that a table has (A1).

PostgreSQL leaves a large value out of an UPDATE that does not touch it. The row has it from the one of its key, which
may be of the same batch; where the UPDATE changes the key, from the one that it takes the place of.
"""

from __future__ import annotations

from dataclasses import replace

from penstock.backends.columns import arrow_rows, python_rows
from penstock.backends.rows import Row
from penstock.steps.intake.keystore import KeyStore
from penstock.steps.rows.batch import DELETE, UPDATE, Batch, Unsent, bad_value, reject_row
from penstock.steps.rows.rejected import Rejections


def with_unsent(batch: Batch, store: KeyStore | None, rejections: Rejections) -> Batch:
    """The batch with all values; a row whose values are not here is rejected, DataError if nothing may be."""
    if not batch.unsent or store is None:
        return batch
    rows = python_rows(batch.rows)
    current = dict(store.lookup({store.key(row): row for row in rows}))
    deleted: dict[int, Row | None] = {}
    kept = []
    for index, row in enumerate(rows):
        key, operation = store.key(row), batch.operation(index)
        if (unsent := batch.unsent.get(index)) is not None:
            known = current.get(key) if unsent.before is None else deleted.get(unsent.before)
            if known is None:
                _reject(batch, index, unsent, rejections)
                continue
            row = rows[index] = tuple(known[at] if at in unsent.places else value for at, value in enumerate(row))  # noqa: PLW2901
        kept.append(index)
        if operation == DELETE:
            deleted[index] = current.pop(key, None)
        elif operation != UPDATE:
            current[key] = row
        elif key in current:
            pairs = zip(current[key], row, strict=True)
            current[key] = tuple(old if new is None else new for old, new in pairs)
    whole = replace(batch, rows=arrow_rows(batch.rows.schema, rows), unsent={})
    return whole if len(kept) == len(rows) else whole.chosen(kept)


def _reject(batch: Batch, index: int, unsent: Unsent, rejections: Rejections) -> None:
    names = ", ".join(batch.table.columns[at].name for at in sorted(unsent.places))
    place = batch.place(index)
    what = "is not sent: it is large, and has not changed; and the row that has it is not here"
    error = bad_value(batch.table, f"{place}, column {names}", what)
    if not rejections.tolerant:
        raise error
    reject_row(rejections, batch.table, place, error, batch.given(index))
