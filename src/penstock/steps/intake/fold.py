"""From what came in for a table to its change: operations folded, late rows set aside (A1, B1, B2, B5, B6).

`fold` only looks; the `Intake` it gives says what the table's memory becomes once the step has succeeded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from penstock.backends.columns import arrow_rows, python_rows, weighted_schema
from penstock.backends.rows import Key, Row, canonical_row
from penstock.backends.thresholds import MANY_ROWS
from penstock.backends.waterlines import above, below
from penstock.catalog.model import Table
from penstock.catalog.reserved import WEIGHT
from penstock.engine.terms import Terms
from penstock.errors import DataError, Diagnostic
from penstock.steps.intake.apart import moved_by_change, moved_by_rows
from penstock.steps.intake.earliest import left_open, with_earliest
from penstock.steps.intake.holding import Holding
from penstock.steps.intake.keystore import KeyStore
from penstock.steps.intake.lateness import LateColumn, TableLateness, comparable, comparable_value
from penstock.steps.intake.refusing import without_refused, without_refused_held
from penstock.steps.intake.rowcounts import RowCounts
from penstock.steps.rows.batch import (
    DELETE,
    INSERT,
    NO_LINES,
    UPDATE,
    Batch,
    refuse_deletion,
    refuse_update,
    reject_row,
)
from penstock.steps.rows.computing import completed
from penstock.steps.rows.identity import identity_of, unordered
from penstock.steps.rows.refused import Refused, gone, set_aside
from penstock.steps.rows.rejected import FUTURE, INFINITE, LATE, Rejections, row_json
from penstock.steps.rows.row_lines import RowLines

if TYPE_CHECKING:
    from penstock.backends.api import Delta

BAD_DELETE = "Row to delete not found"


@dataclass(frozen=True)
class Intake:
    """The effect of a step on one table: its change, and how its memory goes on.

    `propose` is a part of the step, and may fail; `apply` follows it. Of a table that holds rows back `arrived` has
    those that were accepted.
    """

    table: Table
    change: pa.Table | Delta
    lateness: TableLateness
    received: int
    apply: Callable[[], None] = field(default=lambda: None)
    holding: Holding = field(default_factory=Holding)
    propose: Callable[[], None] = field(default=lambda: None)
    arrived: pa.Table | None = None

    @property
    def is_empty(self) -> bool:
        """True if the table stays as it is."""
        return isinstance(self.change, pa.Table) and self.change.num_rows == 0


@dataclass(frozen=True)
class Judge:
    """Judges a step's rows: by lateness and held rows of the steps before, by the clock, by what views refuse.

    The rejected go here. `step` is the step's number, by which rows have their place in the order of arrival. `terms`
    are those of columns that are computed when a row comes, `lines` the waterlines that rows keep.
    """

    lateness: TableLateness
    clock: datetime
    rejections: Rejections
    holding: Holding = field(default_factory=Holding)
    refused: Refused = field(default_factory=Refused)
    step: int = 0
    terms: Terms | None = None
    lines: RowLines = NO_LINES

    def stamped(self, batch: Batch) -> Batch:
        """The batch with the time and the order in which its rows have arrived, and what is computed of them."""
        found = batch.stamped(self.clock, self.step, self.lines)
        return found if self.terms is None else completed(found, self.terms, self.rejections)


def fold_rows(batch: Batch, judge: Judge, counts: Callable[[], RowCounts], live: RowCounts | None) -> Intake:
    """The change of a table without a key.

    `counts` gives the whole-row counts, held rows included, when a deletion must be checked; `live` are those that
    exist already. Raises DataError for an update, a deletion from an append_only table or of a row that is not there.
    """
    _check_operations(batch)
    batch = _without_impossible(batch, judge)
    moved = moved_by_rows(judge.lateness, batch.rows, batch.partitions, judge.clock)
    seen = {item.name: comparable(batch.rows.column(item.place)) for item in judge.holding.columns}
    kept = without_refused(_without_late(batch, judge), judge.refused, judge.rejections)
    deleting = kept.operations is not None and DELETE in kept.operations
    if deleting:
        kept = with_earliest(kept, counts) if left_open(batch.table) else kept
        kept = _check_present(kept, counts(), judge.rejections)
        live = counts()
    accepted = _weighted(kept)
    together, holding = judge.holding.after(seen, accepted)
    released, given_up = without_refused_held(batch.table, together, judge.refused, judge.rejections)
    remembered = live

    def apply() -> None:
        if remembered is not None:
            remembered.commit(accepted)
            remembered.apply((row[:-1], -row[-1]) for row in given_up)

    propose = (lambda: None) if live is None else partial(live.propose, accepted)
    arrived = accepted if holding.columns else None
    return Intake(batch.table, released, moved, len(batch), apply, holding, propose, arrived)


def _weighted(batch: Batch) -> pa.Table:
    """The rows of a batch of inserts and deletes as a change."""
    if batch.operations is None:
        weights = pa.repeat(pa.scalar(1, pa.int64()), len(batch))
    else:
        weights = pc.if_else(deletions(batch), pa.scalar(-1, pa.int64()), pa.scalar(1, pa.int64()))
    return batch.rows.append_column(pa.field(WEIGHT, pa.int64()), weights)


def deletions(batch: Batch) -> pa.Array:
    """For each row of a batch whether it is deleted."""
    if batch.operations is None:
        return pa.repeat(pa.scalar(value=False), len(batch))
    return pc.equal(pa.array(batch.operations, pa.string()), DELETE)


def _check_operations(batch: Batch) -> None:
    for index, operation in enumerate(batch.operations or ()):
        if operation == UPDATE:
            refuse_update(batch.table, batch.place(index))
        if operation == DELETE and batch.table.append_only:
            refuse_deletion(batch.table, batch.place(index))


def _without_impossible(batch: Batch, judge: Judge) -> Batch:
    """The batch without rows that hold an infinite value, or one too far ahead of the clock, in a LATENESS column."""
    for item in judge.lateness.columns:
        column = batch.rows.column(item.place)
        for message, mask in impossible(item, column, judge.clock):
            batch = _set_aside(batch, mask, message, judge.rejections)
    return batch


def impossible(item: LateColumn, values: pa.ChunkedArray, clock: datetime) -> Iterator[tuple[str, pa.ChunkedArray]]:
    """The values of a LATENESS column that are infinite, or too far ahead of the clock; one kind at most."""
    if pa.types.is_floating(values.type):
        yield INFINITE, pc.fill_null(pc.is_inf(values), False)  # noqa: FBT003
    limit = item.ahead.above(clock) if item.ahead is not None else None
    if limit is not None:
        yield FUTURE, above(values, limit)


def _without_late(batch: Batch, judge: Judge) -> Batch:
    late: Any = None
    for item in judge.lateness.columns:
        limit = item.limit(judge.lateness.waterline(item))
        if limit is not None:
            found = below(batch.rows.column(item.place), limit)
            late = found if late is None else pc.or_(late, found)
    return batch if late is None else _set_aside(batch, late, LATE, judge.rejections)


def _set_aside(batch: Batch, chosen: pa.ChunkedArray, message: str, rejections: Rejections) -> Batch:
    """The batch without the chosen rows, which go to the rejections."""
    places = pc.indices_nonzero(chosen).to_pylist()
    if not places:
        return batch
    for index in places:
        rejections.add(batch.table.name, message, batch.json(index))
    return batch.chosen([index for index, gone in enumerate(chosen.to_pylist()) if not gone])


def _check_present(batch: Batch, counts: RowCounts, rejections: Rejections) -> Batch:
    """The batch, if each row that it deletes more often than inserts is there often enough.

    A tolerant caller gets it without the deletions that are not possible.
    """
    if counts.process is not None and len(batch) >= MANY_ROWS and counts.can_flush:
        index = counts.missing(batch.rows, deletions(batch))
        if index is None:
            return batch
        if not rejections.tolerant:
            raise _not_there(batch, index)
    rows = python_rows(batch.rows)
    identity = identity_of(batch.table)
    keys = list(map(identity, rows))
    missing, last = _missing(batch, rows, keys, counts)
    if missing and any("map<" in column.type.lower() for column in batch.table.columns):
        rows = _as_stored(batch, rows, identity, missing, counts)
        keys = list(map(identity, rows))
        batch = replace(batch, rows=arrow_rows(batch.rows.schema, rows))
        missing, last = _missing(batch, rows, keys, counts)
    if not missing:
        return batch
    if not rejections.tolerant:
        raise _not_there(batch, min(last[key] for key in missing))
    return _without_deletions(batch, keys, missing, rejections)


def _not_there(batch: Batch, index: int) -> DataError:
    message = f"table {batch.table.name}, {batch.place(index)}: the row to delete is not there: {batch.json(index)}"
    return DataError(Diagnostic("ROW_NOT_FOUND", message))


def _missing(
    batch: Batch, rows: list[Row], keys: Sequence[Key], counts: RowCounts
) -> tuple[dict[Key, int], dict[Key, int]]:
    """The rows that are deleted more often than they are there, by how much, and where each is deleted last."""
    net: dict[Key, int] = {}
    last: dict[Key, int] = {}
    for index, key in enumerate(keys):
        deletes = batch.operation(index) == DELETE
        net[key] = net.get(key, 0) + (-1 if deletes else 1)
        if deletes:
            last[key] = index
    touched = [key for key, weight in net.items() if weight < 0]
    present = counts.counts([rows[last[key]] for key in touched])
    return {key: -net[key] - present[key] for key in touched if -net[key] > present[key]}, last


def _as_stored(
    batch: Batch, rows: list[Row], identity: Callable[[Row], Key], missing: Mapping[Key, int], counts: RowCounts
) -> list[Row]:
    """The rows, with deletions that are missing as the rows that equal them but for the order of a MAP's entries."""
    left = dict(missing)
    astray = []
    for index in reversed(range(len(rows))):
        key = identity(rows[index])
        if batch.operation(index) == DELETE and left.get(key, 0) > 0:
            left[key] -= 1
            astray.append(index)
    forms: dict[Any, dict[Key, tuple[Row, int]]] = {unordered(rows[index]): {} for index in astray}
    signed = [(row, -1 if batch.operation(index) == DELETE else 1) for index, row in enumerate(rows)]
    for row, count in [*counts.alike([rows[index] for index in astray]), *signed]:
        known = forms.get(unordered(row))
        if known is not None:
            key = identity(row)
            known[key] = (row, count + known.get(key, (row, 0))[1])
    found = list(rows)
    for index in astray:
        known = forms[unordered(rows[index])]
        spare = next((key for key, (_, count) in known.items() if count > 0), None)
        if spare is not None:
            found[index], count = known[spare]
            known[spare] = (found[index], count - 1)
    return found


def _without_deletions(batch: Batch, keys: Sequence[Key], missing: dict[Key, int], rejections: Rejections) -> Batch:
    gone: list[bool] = [False] * len(keys)
    for index in reversed(range(len(keys))):
        key = keys[index]
        if batch.operation(index) == DELETE and missing.get(key, 0) > 0:
            missing[key] -= 1
            gone[index] = True
    return _set_aside(batch, pa.chunked_array([pa.array(gone)]), BAD_DELETE, rejections)


def fold_keyed(batch: Batch, judge: Judge, store: KeyStore) -> Intake:
    """The change of a table with a key: operations on each key in arrival order, late ones skipped (B6)."""
    refuse_other_than_inserts(batch)
    rows = python_rows(batch.rows)
    lines = _comparable_rows(batch, judge.lateness)
    by_key: dict[Key, list[int]] = {}
    for index, row in enumerate(rows):
        by_key.setdefault(store.key(row), []).append(index)
    stored = store.lookup({key: rows[found[0]] for key, found in by_key.items()})
    folding = _Folding(batch, rows, lines, judge)
    changes: dict[Key, tuple[Row | None, Row | None]] = {}
    for key, found in by_key.items():
        before = stored.get(key)
        after = folding.fold(before, found, key)
        if after is not before and (before is None or after is None or canonical_row(before) != canonical_row(after)):
            changes[key] = (before, after)
    if batch.table.append_only:
        _refuse_replacement(batch, changes, by_key, judge.rejections)
    weighted = [(*before, -1) for before, _ in changes.values() if before is not None]
    weighted += [(*after, 1) for _, after in changes.values() if after is not None]
    change = arrow_rows(weighted_schema(batch.table.columns), weighted)
    moved = moved_by_change(judge.lateness, change, batch, judge.clock)
    return Intake(batch.table, change, moved, len(batch), lambda: store.apply(changes))


def refuse_other_than_inserts(batch: Batch) -> None:
    """Refuse an operation that is none of an append-only table's."""
    if batch.table.append_only and batch.operations is not None:
        for index, operation in enumerate(batch.operations):
            if operation != INSERT:
                refuse_deletion(batch.table, batch.place(index))


def _refuse_replacement(
    batch: Batch,
    changes: dict[Key, tuple[Row | None, Row | None]],
    by_key: Mapping[Key, list[int]],
    rejections: Rejections,
) -> None:
    """Refuse the rows of keys that are there already; a tolerant caller goes on without them."""
    for key in [key for key, (before, _) in changes.items() if before is not None]:
        for index in by_key[key]:
            try:
                refuse_deletion(batch.table, batch.place(index))
            except DataError as error:
                if not rejections.tolerant:
                    raise
                reject_row(rejections, batch.table, batch.place(index), error, batch.json(index))
        del changes[key]


def _comparable_rows(batch: Batch, lateness: TableLateness) -> dict[int, list[Any]]:
    return {item.place: comparable(batch.rows.column(item.place)) for item in lateness.columns}


class _Folding:
    """Folds the operations on one key after the other."""

    def __init__(self, batch: Batch, rows: list[Row], lines: dict[int, list[Any]], judge: Judge) -> None:
        self._batch = batch
        self._rows = rows
        self._lines = lines
        self._judge = judge
        self._lateness = judge.lateness
        key = {name.lower() for name in batch.table.key}
        self._key_columns = [item for item in judge.lateness.columns if item.column.name.lower() in key]
        self._refused = judge.refused.of(batch.table)
        self._identity = identity_of(batch.table)

    def fold(self, stored: Row | None, indices: list[int], key: Key) -> Row | None:
        """The row of a key after its operations."""
        if not self._lateness.columns:
            current = stored
            for index in indices:
                result = self._applied(current, index)
                current = current if self._raises(result, index, key) else result
            return current
        timely = [index for index in indices if not self._key_is_late(index)]
        if stored is not None and self._is_late(stored):
            for index in timely:
                self._reject(index, LATE)
            return stored
        current = stored
        for index in timely:
            result = self._applied(current, index)
            why = None if self._batch.operation(index) == DELETE or result is None else self._refusal(result)
            if why is not None:
                self._reject(index, why)
            elif not self._raises(result, index, key):
                current = result
        return current

    def _raises(self, result: Row | None, index: int, key: Key) -> bool:
        """True if a view raises for what an operation leads to; the operation is set aside then."""
        if not self._refused:
            return False
        reason = self._refused.get(gone(key) if result is None else self._identity(result))
        if reason is not None:
            batch = self._batch
            set_aside(self._judge.rejections, batch.table, reason, batch.place(index), batch.json(index))
        return reason is not None

    def _key_is_late(self, index: int) -> bool:
        values = {place: values[index] for place, values in self._lines.items()}
        late = bool(self._key_columns) and self._lateness.late(values, self._key_columns)
        if late:
            self._reject(index, LATE)
        return late

    def _applied(self, current: Row | None, index: int) -> Row | None:
        operation, row = self._batch.operation(index), self._rows[index]
        if operation == DELETE:
            return None
        if operation == INSERT:
            return row
        if current is None:
            return None
        return tuple(old if new is None else new for old, new in zip(current, row, strict=True))

    def _line(self, row: Row) -> dict[int, Any]:
        return {item.place: comparable_value(row[item.place]) for item in self._lateness.columns}

    def _is_late(self, row: Row) -> bool:
        return self._lateness.late(self._line(row))

    def _refusal(self, row: Row) -> str | None:
        line = self._line(row)
        if any(value in (float("inf"), float("-inf")) for value in line.values() if isinstance(value, float)):
            return INFINITE
        if any(item.is_future(line[item.place], self._judge.clock) for item in self._lateness.columns):
            return FUTURE
        return LATE if self._lateness.late(line) else None

    def _reject(self, index: int, message: str) -> None:
        names = [column.name for column in self._batch.table.columns]
        row = dict(zip(names, self._rows[index], strict=True))
        self._judge.rejections.add(self._batch.table.name, message, row_json(row))
