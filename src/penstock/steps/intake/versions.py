"""The versions of a table's rows: what its operations say about each key, and from when on (C12).

    ('+', (10, 'Beer', 0.25, 09:00))    a version of key 10 from 09:00 on
    ('-', (10, 'Beer', 0.25, 11:00))    none from 11:00 on
    ('-', (10,))                        none from the largest time on that has been seen

Each operation is late by its own time alone. What the table itself makes of it is another matter (B6).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from penstock.backends.columns import arrow_rows, python_rows
from penstock.backends.rows import Key, Row
from penstock.backends.waterlines import below
from penstock.catalog.model import Table
from penstock.catalog.reserved import ENDED, ORDER, WEIGHT
from penstock.steps.intake.fold import Intake, Judge, deletions, fold_rows, impossible
from penstock.steps.intake.lateness import LateColumn
from penstock.steps.intake.memory import TableMemory
from penstock.steps.intake.rowcounts import RowCounts
from penstock.steps.rows.batch import DELETE, INSERT, UPDATE, Batch
from penstock.steps.rows.rejected import LATE_VERSION, Rejections

_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 - UTC, as all waterlines


def fold_versions(batch: Batch, judge: Judge, versions: TableMemory, content: TableMemory) -> Intake:
    """The new versions that operations on a table bring; `content` is the table before them."""
    (item,) = judge.lateness.columns
    received = len(batch)
    batch = _possible(_completed(batch, content), item, judge.clock)
    batch = _timely(_with_times(batch, item, judge), item, judge, content)
    own = replace(judge, rejections=Rejections(judge.rejections.tolerant))
    intake = fold_rows(_as_versions(batch, versions), own, lambda: _no_counts(versions.table), None)
    judge.rejections.rows += own.rejections.rows
    return replace(intake, received=received)


def inserted(intake: Intake) -> pa.Table:
    """The rows that a step has brought into a table; none lie on the executors."""
    change = intake.change
    assert isinstance(change, pa.Table)  # noqa: S101 - rows of a table with LATENESS and a key are folded here
    return change.filter(pc.greater(change.column(WEIGHT), 0)).drop_columns([WEIGHT])


def _no_counts(table: Table) -> RowCounts:
    message = f"nothing is deleted from {table.name}"
    raise AssertionError(message)


def _completed(batch: Batch, content: TableMemory) -> Batch:
    """The batch with whole rows in place of updates: what they make of the table's rows, if those are there."""
    if batch.operations is None or UPDATE not in batch.operations or content.store is None:
        return batch
    store, rows = content.store, python_rows(batch.rows)
    keys = [store.key(row) for row in rows]
    current: dict[Key, Row | None] = dict(store.lookup(dict(zip(keys, rows, strict=True))))
    kept: list[int] = []
    for index, (key, row) in enumerate(zip(keys, rows, strict=True)):
        operation, before = batch.operation(index), current.get(key)
        if operation == UPDATE and before is None:
            continue
        if operation == UPDATE and before is not None:
            rows[index] = tuple(old if new is None else new for old, new in zip(before, row, strict=True))
        current[key] = None if operation == DELETE else rows[index]
        kept.append(index)
    operations = tuple(DELETE if item == DELETE else INSERT for item in batch.operations)
    whole = replace(batch, rows=arrow_rows(batch.rows.schema, rows), operations=operations)
    return whole.chosen(kept)


def _possible(batch: Batch, item: LateColumn, clock: datetime) -> Batch:
    """The batch without rows that are too far ahead of the clock, of which the table tells."""
    column = batch.rows.column(item.column.name)
    for _, mask in impossible(item, column, clock):
        batch = _without(batch, mask)
    return batch


def _without(batch: Batch, mask: Any) -> Batch:
    kept = pc.indices_nonzero(pc.invert(pc.fill_null(mask, False))).to_pylist()  # noqa: FBT003
    return batch if len(kept) == len(batch) else batch.chosen(kept)


def _with_times(batch: Batch, item: LateColumn, judge: Judge) -> Batch:
    """The batch with a time in each deletion that has none, as far as one has been seen; without rows without time."""
    at = batch.rows.schema.get_field_index(item.column.name)
    times = batch.rows.column(at).combine_chunks()
    if not times.null_count:
        return batch
    whole = pa.int32() if pa.types.is_date(times.type) else pa.int64()
    numbers = times.cast(whole)
    seen = pa.scalar(_number(judge.lateness.waterline(item).seen, times.type), whole)
    so_far = pc.coalesce(pc.fill_null_forward(pc.cumulative_max(numbers, skip_nulls=True)), seen)
    latest = pc.if_else(pc.less(so_far, pc.coalesce(seen, so_far)), seen, so_far)
    filled = pc.coalesce(numbers, pc.if_else(deletions(batch), latest, pa.scalar(None, whole))).cast(times.type)
    rows = batch.rows.set_column(at, batch.rows.field(at), filled)
    return _without(replace(batch, rows=rows), pc.is_null(filled))


def _number(value: datetime | None, kind: pa.DataType) -> int | None:
    """A comparable time as Arrow counts it."""
    if value is None:
        return None
    return (value - _EPOCH) // (timedelta(days=1) if pa.types.is_date(kind) else timedelta(microseconds=1))


def _timely(batch: Batch, item: LateColumn, judge: Judge, content: TableMemory) -> Batch:
    """The batch without late rows; `error_view` is told of those that are not late for the table itself."""
    limit = judge.lateness.waterline(item).at
    if limit is None:
        return batch
    times = batch.rows.column(item.column.name)
    late = below(times, limit)
    own = next(found for found in content.lateness.columns if found.column.name == item.column.name)
    told = own.limit(content.lateness.waterline(own))
    for index in _indices(late):
        if told is None or not pc.fill_null(below(times.slice(index, 1), told), False)[0].as_py():  # noqa: FBT003
            judge.rejections.add(batch.table.name, LATE_VERSION, batch.json(index))
    return _without(batch, late)


def _indices(mask: Any) -> Sequence[int]:
    found: Sequence[int] = pc.indices_nonzero(mask).to_pylist()
    return found


def _as_versions(batch: Batch, versions: TableMemory) -> Batch:
    """The rows as the stream of versions has them, in their order: what comes later has the smaller number."""
    order = pa.array(range(-versions.received, -versions.received - len(batch), -1), pa.int64())
    rows = batch.rows.add_column(0, pa.field(ENDED, pa.bool_()), deletions(batch))
    rows = rows.add_column(0, pa.field(ORDER, pa.int64()), order)
    return Batch(versions.table, rows, None, batch.place, batch.partitions)
