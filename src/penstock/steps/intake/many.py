"""Many operations on the keys of a table that lies in the process, folded by statements of DuckDB.

    batch   position, key, operation    →  of each key: its first position, and the last that counts
    found   the stored rows of the keys →  what each key had before

What becomes of a key is then the row at its last position, or nothing after a deletion; a partial update fills what
later ones leave open. It is what `fold.fold_keyed` finds, which folds one operation after the other and takes whatever
this leaves: rows that views refuse, partial updates where some results are late.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, reduce

import pyarrow as pa
import pyarrow.compute as pc

from penstock.backends.columns import python_rows
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
from penstock.steps.intake.process import ProcessRows, positions
from penstock.steps.rows.batch import INSERT, UPDATE, Batch, refuse_deletion
from penstock.steps.rows.rejected import FUTURE, INFINITE, LATE, row_json


def fold_by_key(batch: Batch, judge: Judge, store: KeyStore) -> Intake:
    """The change of a table with a key: operations on each key in arrival order, late ones skipped (B6)."""
    process = store.process
    if process is None or len(batch) < MANY_ROWS or judge.refused.of(batch.table) or not store.can_flush:
        return fold_keyed(batch, judge, store)
    updates = batch.operations is not None and UPDATE in batch.operations
    if updates and judge.lateness.columns:
        return fold_keyed(batch, judge, store)
    refuse_other_than_inserts(batch)
    store.flush()
    whole = replace(batch, rows=batch.rows.combine_chunks())
    after = (_updated if updates else _replaced)(process, whole, _Verdicts(whole, judge))
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
        firsts = _first_of_each(self.process, batch)
        aside = [at for at, first in enumerate(firsts) if not passed[at] or first in skipped]
        aside.sort(key=lambda at: (firsts[at], not by_key[at], at))
        for at, row in zip(aside, python_rows(batch.rows.take(pa.array(aside, pa.int64()))), strict=True):
            message = LATE if firsts[at] in skipped else verdicts.message(at)
            judge.rejections.add(batch.table.name, message, row_json(dict(zip(names, row, strict=True))))


def _replaced(process: ProcessRows, batch: Batch, verdicts: _Verdicts) -> _Folded:
    """The keys after rows that are inserted and deleted: the last operation of each that passes counts."""
    keys, passed = ", ".join(process.keys), verdicts.passed
    given = _numbered(process, batch)
    if passed is not None:
        given = given.append_column("ok", passed)
    counted = "" if passed is None else " FILTER (ok)"
    with process.store.given(given) as rows:
        if passed is None and process.are_apart(rows):
            touched = f"SELECT {keys}, p AS first, p AS last FROM {rows}"
            found = _with_stored(process, touched, "last") if process.has_any(rows) else _all_new(process, len(batch))
        else:
            touched = f"SELECT {keys}, min(p) AS first, max(p){counted} AS last FROM {rows} GROUP BY {keys}"
            found = _with_stored(process, touched, "last")
    last = found["last"]
    new = batch.rows if _is_all(last, len(batch)) else batch.rows.take(last)
    stays = pc.fill_null(pc.equal(verdicts.codes.take(last), INSERT), False)  # noqa: FBT003 - the value for NULL
    return _folded(process, verdicts, found, new, stays=stays, touched=pc.is_valid(last))


def _updated(process: ProcessRows, batch: Batch, verdicts: _Verdicts) -> _Folded:
    """The keys after partial updates too: each fills up the row that was inserted last, or is stored."""
    keys = ", ".join(process.keys)
    given = process.placed(batch.rows).append_column("p", positions(len(batch))).append_column("op", verdicts.codes)
    filled = ", ".join(f"max(b.p) FILTER (b.{name} IS NOT NULL) AS u{name}" for name in process.names)
    updates = [f"u{name}" for name in process.names]
    with process.store.given(given) as rows:
        firsts = f"SELECT {keys}, min(p) AS first, max(p) FILTER (op <> '{UPDATE}') AS last FROM {rows} GROUP BY {keys}"
        later = f"FROM {rows} b JOIN firsts f ON {process.agreeing('b', 'f')} WHERE b.p > coalesce(f.last, -1)"
        updated = f"SELECT f.first, {filled} {later} GROUP BY f.first"
        joined = "SELECT f.*, u.* EXCLUDE (first) FROM firsts f LEFT JOIN updated u ON f.first = u.first"
        query = f"WITH firsts AS ({firsts}), updated AS ({updated}) {joined}"
        found = _with_stored(process, query, "last", *updates)
    last, there, stored = found["last"], found["there"], process.declared(found.select(process.names))
    inserted = pc.fill_null(pc.equal(verdicts.codes.take(last), INSERT), False)  # noqa: FBT003 - the value for NULL
    begun, given_rows = pc.is_valid(last), batch.rows.take(last)
    new = [
        pc.coalesce(values.take(found[late]), pc.if_else(begun, given, old))
        for values, late, given, old in zip(
            batch.rows.columns, updates, given_rows.columns, stored.columns, strict=True
        )
    ]
    stays = pc.if_else(begun, inserted, there)
    table = pa.Table.from_arrays(new, schema=batch.rows.schema)
    return _folded(process, verdicts, found, table, stays=stays, touched=pc.is_valid(found["first"]))


def _folded(
    process: ProcessRows,
    verdicts: _Verdicts,
    found: pa.Table,
    new: pa.Table,
    *,
    stays: pa.ChunkedArray,
    touched: pa.ChunkedArray,
) -> _Folded:
    old, there = process.declared(found.select(process.names)), found["there"]
    over = pc.and_(there, _below_line(old, verdicts.lateness))
    touched = pc.and_(touched, pc.invert(over))
    if pc.any(there).as_py():
        alike = pc.and_(pc.and_(there, stays), _alike(old, new))
        touched = pc.and_(touched, pc.invert(alike))
    return _Folded(process, verdicts, found["first"], there, old, new, stays, touched, over)


def _numbered(process: ProcessRows, batch: Batch) -> pa.Table:
    """The keys of a batch with their positions."""
    return process.placed(batch.rows).select(process.keys).append_column("p", positions(len(batch)))


def _with_stored(process: ProcessRows, touched: str, *columns: str) -> pa.Table:
    """The touched keys in the order of their first operations, with their stored rows, and whether there is one."""
    listed = ", ".join(f"g.{name}" for name in ("first", *columns))
    if process.is_empty:
        return _without_stored(process, process.store.arrow(f"SELECT {listed} FROM ({touched}) g ORDER BY first"))
    stored = ", ".join(f"t.{name}" for name in process.names)
    joined = f"touched g LEFT JOIN ({process.found_in('touched')}) t ON {process.agreeing('g', 't')}"
    query = f"SELECT {listed}, {stored}, t.{WEIGHT} IS NOT NULL AS there FROM {joined} ORDER BY first"
    return process.store.arrow(f"WITH touched AS MATERIALIZED ({touched}) {query}")


def _all_new(process: ProcessRows, count: int) -> pa.Table:
    """The same for operations on as many keys, none of which has a stored row."""
    return _without_stored(process, pa.table({"first": positions(count), "last": positions(count)}))


def _without_stored(process: ProcessRows, found: pa.Table) -> pa.Table:
    for field in process.schema:
        found = found.append_column(field, pa.nulls(found.num_rows, field.type))
    return found.append_column("there", pa.repeat(pa.scalar(value=False), found.num_rows))


def _first_of_each(process: ProcessRows, batch: Batch) -> list[int]:
    """For each row of a batch the position of the first with its key."""
    with process.store.given(_numbered(process, batch)) as rows:
        partition = ", ".join(process.keys)
        query = f"SELECT min(p) OVER (PARTITION BY {partition}) AS first FROM {rows} ORDER BY p"
        return list(process.store.arrow(query)["first"].to_pylist())


def _below_line(rows: pa.Table, lateness: TableLateness) -> pa.ChunkedArray:
    """The rows that are below some waterline."""
    limits = [(item.place, lateness.waterline(item).at) for item in lateness.columns]
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
