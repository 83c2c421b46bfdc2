"""Many operations on the keys of a table that lies in the process, folded all at once.

The process tells of each key its first operation, the last that counts, and its stored row (`TouchedKeys`). What
becomes of a key is then the row at its last position, or nothing after a deletion; a partial update fills what later
ones leave open. It is what `fold.fold_keyed` finds, which folds one operation after the other and takes whatever this
leaves: rows that views refuse, partial updates where some results are late.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, reduce

import pyarrow as pa
import pyarrow.compute as pc

from penstock.backends.columns import python_rows
from penstock.backends.native.stored import ProcessRows, positions
from penstock.backends.native.touched_keys import TouchedKeys, by_last, by_updates, first_of_each
from penstock.backends.thresholds import MANY_ROWS
from penstock.backends.waterlines import below
from penstock.catalog.model import Table
from penstock.catalog.reserved import WEIGHT
from penstock.steps.intake.apart import moved_by_change
from penstock.steps.intake.fold import (
    Intake,
    Judge,
    fold_keyed,
    impossible,
    refuse_other_than_inserts,
)
from penstock.steps.intake.keystore import KeyStore
from penstock.steps.intake.lateness import TableLateness
from penstock.steps.intake.unsent import with_unsent
from penstock.steps.rows.batch import INSERT, UPDATE, Batch, refuse_deletion
from penstock.steps.rows.rejected import FUTURE, INFINITE, LATE, row_json


def fold_by_key(batch: Batch, judge: Judge, store: KeyStore) -> Intake:
    """The change of a table with a key: operations on each key in arrival order, late ones skipped (B6)."""
    batch = with_unsent(batch, store, judge.rejections)
    process = store.process
    if process is None or len(batch) < MANY_ROWS or judge.refused.of(batch.table) or not store.can_flush:
        return fold_keyed(batch, judge, store)
    updates = batch.operations is not None and UPDATE in batch.operations
    if updates and judge.lateness.columns:
        return fold_keyed(batch, judge, store)
    refuse_other_than_inserts(batch)
    store.flush()
    after = (_updated if updates else _replaced)(process, batch, _Verdicts(batch, judge))
    if batch.table.append_only and pc.any(pc.and_(after.there, after.touched)).as_py():
        if judge.rejections.tolerant:
            return fold_keyed(batch, judge, store)
        refuse_deletion(batch.table, batch.place(after.first_replaced))
    after.reject(judge)
    change = after.change(batch.table)
    moved = moved_by_change(judge.lateness, change, batch, judge.clock)
    return Intake(batch.table, change, moved, len(batch), store.commit, propose=lambda: store.propose(change))


class _Verdicts:
    """The operations of a batch that LATENESS lets pass, by what stands in their own rows."""

    def __init__(self, batch: Batch, judge: Judge) -> None:
        self.batch = batch
        self.lateness = judge.lateness
        self._clock = judge.clock

    @cached_property
    def codes(self) -> pa.ChunkedArray:
        """The operations."""
        operations = self.batch.operations
        if operations is None:
            return pa.chunked_array([pa.repeat(INSERT, len(self.batch))])
        return pa.chunked_array([pa.array(operations, pa.string())])

    @cached_property
    def by_key(self) -> pa.ChunkedArray:
        """The operations that are late by their keys' own values."""
        key = {name.lower() for name in self.batch.table.key}
        return _below_line(self.batch.rows, self.lateness.within(key))

    @cached_property
    def reasons(self) -> list[tuple[str, pa.ChunkedArray]]:
        """The inserted rows that are set aside, by their message; the first that holds is the reason."""
        rows, inserts = self.batch.rows, pc.equal(self.codes, INSERT)
        found: dict[str, list[pa.ChunkedArray]] = {INFINITE: [], FUTURE: [], LATE: [_below_line(rows, self.lateness)]}
        for item in self.lateness.columns:
            for message, mask in impossible(item, rows.column(item.place), self._clock):
                found[message].append(mask)
        return [(message, pc.and_(inserts, reduce(pc.or_, masks))) for message, masks in found.items() if masks]

    @cached_property
    def passed(self) -> pa.ChunkedArray | None:
        """The operations that pass; None if nothing is judged."""
        if not self.lateness.columns:
            return None
        return pc.invert(reduce(pc.or_, [self.by_key, *(mask for _, mask in self.reasons)]))

    def message(self, index: int) -> str:
        """The reason for which one row is set aside: late, where it stands in none of its own columns."""
        if self.by_key[index].as_py():
            return LATE
        return next((message for message, mask in self.reasons if mask[index].as_py()), LATE)


@dataclass(frozen=True)
class _Folded:
    """The keys of a batch in the order of their first operations, each with its row before and after.

    `there` says whether a key had a row, `stays` whether it has one afterwards; where it is not `touched` it stays as
    it is. Keys whose stored rows are late are skipped: `over`.
    """

    process: ProcessRows
    verdicts: _Verdicts
    first: pa.ChunkedArray
    there: pa.ChunkedArray
    old: pa.Table
    new: pa.Table
    stays: pa.ChunkedArray
    touched: pa.ChunkedArray
    over: pa.ChunkedArray

    @property
    def first_replaced(self) -> int:
        """The first operation on a key that had a row and is touched."""
        return int(self.first.filter(pc.and_(self.there, self.touched))[0].as_py())

    def change(self, table: Table) -> pa.Table:
        """The change: rows that go, then rows that come."""
        gone, come = pc.and_(self.touched, self.there), pc.and_(self.touched, self.stays)
        parts = [_weighing(self.old.filter(gone), -1)] if pc.any(gone).as_py() else []
        parts.append(_weighing(self.new if pc.all(come).as_py() else self.new.filter(come), 1))
        names = [*(column.name for column in table.columns), WEIGHT]
        return pa.concat_tables([part.rename_columns(names) for part in parts])

    def reject(self, judge: Judge) -> None:
        """Set the skipped operations aside, key by key: first those that are late by their key."""
        verdicts = self.verdicts
        if verdicts.passed is None or (pc.all(verdicts.passed).as_py() and not pc.any(self.over).as_py()):
            return
        batch = verdicts.batch
        names = [column.name for column in batch.table.columns]
        skipped = set(self.first.filter(self.over).to_pylist())
        passed, by_key = verdicts.passed.to_pylist(), verdicts.by_key.to_pylist()
        firsts = first_of_each(self.process, batch.rows)
        aside = [at for at, first in enumerate(firsts) if not passed[at] or first in skipped]
        aside.sort(key=lambda at: (firsts[at], not by_key[at], at))
        for at, row in zip(aside, python_rows(batch.rows.take(pa.array(aside, pa.int64()))), strict=True):
            message = LATE if firsts[at] in skipped else verdicts.message(at)
            judge.rejections.add(batch.table.name, message, row_json(dict(zip(names, row, strict=True))))


def _replaced(process: ProcessRows, batch: Batch, verdicts: _Verdicts) -> _Folded:
    """The keys after rows that are inserted and deleted: the last operation of each that passes counts."""
    found = by_last(process, batch.rows, verdicts.passed)
    new = batch.rows if _is_all(found.last, len(batch)) else batch.rows.combine_chunks().take(found.last)
    stays = pc.fill_null(pc.equal(verdicts.codes.take(found.last), INSERT), False)  # noqa: FBT003 - the value for NULL
    return _folded(process, verdicts, found, new, stays=stays, touched=pc.is_valid(found.last))


def _updated(process: ProcessRows, batch: Batch, verdicts: _Verdicts) -> _Folded:
    """The keys after partial updates too: each fills up the row that was inserted last, or is stored."""
    batch = replace(batch, rows=batch.rows.combine_chunks())
    found = by_updates(process, batch.rows, pc.equal(verdicts.codes, UPDATE))
    last = found.last
    inserted = pc.fill_null(pc.equal(verdicts.codes.take(last), INSERT), False)  # noqa: FBT003 - the value for NULL
    begun, given_rows = pc.is_valid(last), batch.rows.take(last)
    new = [
        pc.coalesce(values.take(found.filling[place]), pc.if_else(begun, given, old))
        for place, (values, given, old) in enumerate(
            zip(batch.rows.columns, given_rows.columns, found.stored.columns, strict=True)
        )
    ]
    stays = pc.if_else(begun, inserted, found.there)
    table = pa.Table.from_arrays(new, schema=batch.rows.schema)
    return _folded(process, verdicts, found, table, stays=stays, touched=pc.is_valid(found.first))


def _folded(
    process: ProcessRows,
    verdicts: _Verdicts,
    found: TouchedKeys,
    new: pa.Table,
    *,
    stays: pa.ChunkedArray,
    touched: pa.ChunkedArray,
) -> _Folded:
    old, there = found.stored, found.there
    over = pc.and_(there, _below_line(old, verdicts.lateness))
    touched = pc.and_(touched, pc.invert(over))
    if pc.any(there).as_py():
        alike = pc.and_(pc.and_(there, stays), _alike(old, new))
        touched = pc.and_(touched, pc.invert(alike))
    return _Folded(process, verdicts, found.first, there, old, new, stays, touched, over)


def _below_line(rows: pa.Table, lateness: TableLateness) -> pa.ChunkedArray:
    """The rows that are below some waterline."""
    limits = lateness.limits
    none = pa.chunked_array([pa.repeat(pa.scalar(value=False), rows.num_rows)])
    return reduce(pc.or_, [below(rows.column(place), limit) for place, limit in limits if limit is not None], none)


def _alike(one: pa.Table, other: pa.Table) -> pa.ChunkedArray:
    """The rows that are equal, as grouping finds them: NULL to NULL, NaN to NaN, 0.0 to -0.0."""
    found = pa.chunked_array([pa.repeat(pa.scalar(value=True), one.num_rows)])
    for left, right in zip(one.columns, other.columns, strict=True):
        equal = pc.or_kleene(pc.equal(left, right), pc.and_(pc.is_null(left), pc.is_null(right)))
        if pa.types.is_floating(left.type):
            equal = pc.or_kleene(equal, pc.and_(pc.is_nan(left), pc.is_nan(right)))
        found = pc.and_(found, pc.fill_null(equal, False))  # noqa: FBT003 - the value for NULL
    return found


def _is_all(places: pa.ChunkedArray, count: int) -> bool:
    """True if the places are those of all rows, in their order: there are as many, and all differ and ascend."""
    if len(places) != count or places.null_count:
        return False
    return bool(pc.all(pc.equal(places, positions(count))).as_py())


def _weighing(rows: pa.Table, weight: int) -> pa.Table:
    return rows.append_column(pa.field(WEIGHT, pa.int64()), pa.repeat(pa.scalar(weight, pa.int64()), rows.num_rows))
