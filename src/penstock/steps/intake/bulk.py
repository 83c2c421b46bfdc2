"""Rows that the user gives as a relation of the backend: few come to the driver, many are folded where they lie.

Where all that reads a table works in the process they come into it as a stream, and are checked piece by piece.

They have the table's columns by name, and may have `__op` ('+', '-', '~') and `__seq`, the arrival order.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, NoReturn

from penstock.backends.api import Arrival, ColumnsRead, GivenRows, MeasuredRows, Relation
from penstock.backends.columns import python_rows
from penstock.backends.native.stored import ProcessRows
from penstock.backends.spool import Spool
from penstock.backends.thresholds import DRIVER_ROWS
from penstock.catalog.model import Column, Table
from penstock.catalog.reserved import OPERATION, SEQUENCE
from penstock.catalog.types import Type, is_checked, plain_type
from penstock.errors import DataError, Diagnostic
from penstock.steps.intake.earliest import left_open
from penstock.steps.intake.fold import Intake, Judge, fold_rows
from penstock.steps.intake.keystore import KeyStore
from penstock.steps.intake.lateness import LateColumn
from penstock.steps.intake.many import fold_by_key
from penstock.steps.intake.memory import TableMemory
from penstock.steps.intake.rowcounts import RowCounts
from penstock.steps.rows.batch import (
    INSERT,
    Batch,
    Place,
    RowReader,
    concatenated,
    first_position,
    refuse_deletion,
    row_number,
    unknown_column,
)
from penstock.steps.rows.rejected import row_json

if TYPE_CHECKING:
    import pyarrow as pa

    from penstock.backends.native.store import Store

_WIDENS = {
    "tinyint": 1,
    "smallint": 2,
    "int": 3,
    "bigint": 4,
    "decimal": 5,
    "float": 6,
    "double": 7,
}


@dataclass(frozen=True)
class GivenBatch:
    """A relation that is given for one table."""

    table: Table
    relation: Relation
    reader: RowReader

    @cached_property
    def given(self) -> GivenRows:
        """The rows as they are given."""
        return self.reader.defaults.workspace().given_rows(self.relation)

    @cached_property
    def checked(self) -> GivenRows:
        """The columns in declared types, not evaluated yet; DataError for one that does not fit."""
        _check_columns(self.table, self.given.kinds)
        return self.given.declared(self.table, self.reader.defaults.text)

    @property
    def is_plain(self) -> bool:
        """True if all rows are to be added, in the order in which they are."""
        return not {OPERATION, SEQUENCE} & self.given.kinds.keys()

    def fetched(self, judge: Judge) -> Batch:
        """The rows on the driver."""
        return self.fetched_from(self.checked.evaluated(), judge)

    def in_process(self, process: ProcessRows, judge: Judge) -> Batch:
        """The rows in the process, however many they are, for a table with a key that lies there."""
        if SEQUENCE in self.given.kinds:  # by which they are ordered, all of them
            return self._read(self.checked.fetched(self.table), judge)
        found = self.streamed(process.store, judge)
        twice = process.twice(found.rows)
        if twice is not None:
            _refuse_twice(self.table, twice)
        return found

    def streamed(self, store: Store, judge: Judge) -> Batch:
        """The rows in the order in which they come, each piece checked before the next one; many lie in a file."""
        spool, pieces = Spool(store.folder.parent), _Pieces()
        try:
            for piece in self.checked.pieces(self.table):
                found = self._read(piece, judge, partial(_numbered, pieces.given))
                pieces.add(found, piece.num_rows)
                spool.add(found.rows)
            return Batch(self.table, spool.rows(), pieces.all_operations, pieces.place, ordered=False)
        finally:
            spool.close()

    def fetched_from(self, rows: GivenRows, judge: Judge) -> Batch:
        """The checked rows, evaluated already, on the driver."""
        _check_keys(self.table, rows)
        return replace(self._read(rows.fetched(self.table), judge), ordered=SEQUENCE in self.given.kinds)

    def measured(self, judge: Judge, read: frozenset[str] | None = None) -> MeasuredRows:
        """The checked rows evaluated: all of it, or the columns that are read and the rows that are set aside."""
        wanted = None if read is None else ColumnsRead(read, self._cast_unread(read))
        kept = judge.lines.literals(self.table)
        arrival = Arrival(first_position(judge.step), first_position(1), kept)
        return self.checked.measured(self.table, judge.lateness.judging(judge.clock), arrival, wanted)

    def _cast_unread(self, read: frozenset[str]) -> list[str]:
        """The columns that nobody reads and that have another type than declared: their casts may find an overflow."""
        given = {name.lower(): kind for name, kind in self.given.kinds.items()}
        names = [(column.name, column.name.lower(), plain_type(column.type).lower()) for column in self.table.columns]
        return [name for name, lower, kind in names if lower not in read and given.get(lower, kind) != kind]

    def _read(self, rows: pa.Table, judge: Judge, place: Place = row_number) -> Batch:
        hidden = [column.name for column in self.table.columns if column.hidden]  # which the reader makes anew
        return self.reader.read_arrow(rows.drop_columns(hidden), judge.rejections, place, carried=True)


class _Pieces:
    """The operations of rows that came in pieces, and their places among all that were given."""

    def __init__(self) -> None:
        self.given = 0
        self._kept = 0
        self._starts: list[int] = []
        self._places: list[Place] = []
        self._operations: list[str] | None = None

    def add(self, batch: Batch, given: int) -> None:
        """Take the checked rows of so many that were given."""
        self._starts.append(self._kept)
        self._places.append(batch.place)
        if batch.operations is not None and self._operations is None:
            self._operations = [INSERT] * self._kept
        if self._operations is not None:
            self._operations += batch.operations or [INSERT] * len(batch)
        self.given, self._kept = self.given + given, self._kept + len(batch)

    @property
    def all_operations(self) -> tuple[str, ...] | None:
        """The operation of each row; None if all are inserts."""
        return None if self._operations is None else tuple(self._operations)

    def place(self, index: int) -> str:
        """The place of one row."""
        at = bisect_right(self._starts, index) - 1
        return self._places[at](index - self._starts[at])


def _numbered(before: int, index: int) -> str:
    return row_number(before + index)


def _check_columns(table: Table, kinds: Mapping[str, Type]) -> None:
    """DataError for a given column that the table does not have, or whose type does not fit."""
    given = {name.lower(): name for name in kinds}
    for lower, name in given.items():
        if lower not in (OPERATION, SEQUENCE) and table.column(lower) is None:
            unknown_column(table, name, "the DataFrame given")
    for column in table.columns:
        found = None if column.hidden else given.get(column.name.lower())
        if found is not None:
            _check_type(table, column, plain_type(kinds[found]))


def _check_type(table: Table, column: Column, found: str) -> None:
    wanted = plain_type(column.type)
    if found in (wanted, "void") or wanted == "variant":
        return
    ranks = [_WIDENS.get(kind.partition("(")[0]) for kind in (found, wanted)]
    numeric = ranks[0] is not None and ranks[1] is not None
    whole = found in ("tinyint", "smallint", "int", "bigint")
    if numeric and (whole or ranks[0] <= ranks[1]):  # type: ignore[operator]
        return
    temporal = {"date", "timestamp", "timestamp_ntz"}
    if found in temporal and wanted in temporal and wanted != "date":
        return
    if found.partition("<")[0] == wanted.partition("<")[0] != found:
        return
    message = f"table {table.name}, column {column.name}: found {found.upper()}, expected {column.type.upper()}"
    raise DataError(Diagnostic("BAD_VALUE", message, hint=f"cast the column to {column.type.upper()}"))


def _check_keys(table: Table, rows: GivenRows) -> None:
    """Refuse several rows of one key where nothing says their order."""
    if not table.key or SEQUENCE in rows.kinds:
        return
    twice = rows.twice(table)
    if twice is not None:
        _refuse_twice(table, twice)


def _refuse_twice(table: Table, key: Sequence[Any]) -> NoReturn:
    shown = ", ".join(f"{name} = {value!r}" for name, value in zip(table.key, key, strict=True))
    message = f"table {table.name}: several rows of the key {shown} in one step, and nothing that tells their order"
    raise DataError(Diagnostic("DUPLICATE_KEY", message, hint=f"add a column {SEQUENCE} with the order of arrival"))


def fold_given(
    batches: Sequence[Batch | GivenBatch],
    judge: Judge,
    memory: TableMemory,
    counts: Callable[[], RowCounts],
    *,
    read: frozenset[str] | None,
    here: Store | None = None,
) -> Intake:
    """The change of a table for which a relation came in, alone or with other rows.

    `read` names the columns that views read, in lower case; None where all are wanted. `here` is the store of the
    process if all who read the table work there.
    """
    first, store, live = batches[0], memory.store, memory.counts
    process = None if store is None else store.process
    if store is not None and process is not None:
        taken = [item if isinstance(item, Batch) else item.in_process(process, judge) for item in batches]
        return fold_by_key(judge.stamped(concatenated(taken)), judge, store)
    if len(batches) > 1 or not isinstance(first, GivenBatch):
        fetched = [item if isinstance(item, Batch) else item.fetched(judge) for item in batches]
        batch = judge.stamped(concatenated(fetched))
    else:
        narrow = read is not None and _only_views_read(first.table, judge)
        if store is None and here is not None and not narrow and first.is_plain:
            return fold_rows(judge.stamped(first.streamed(here, judge)), judge, counts, live)
        bulk = _Bulk(first.table, first.measured(judge, read if narrow else None), judge, narrow=narrow)
        if bulk.stays(store):
            return bulk.folded(store, live, counts)
        batch = judge.stamped(first.fetched_from(bulk.measured.rows, judge))
    return fold_by_key(batch, judge, store) if store is not None else fold_rows(batch, judge, counts, live)


class _Bulk:
    """Many given rows on their way into a table, evaluated once."""

    def __init__(self, table: Table, measured: MeasuredRows, judge: Judge, *, narrow: bool) -> None:
        self.measured = measured
        self._table = table
        self._judge = judge
        self._facts = measured.facts
        self._narrow = narrow

    def stays(self, store: KeyStore | None) -> bool:
        """True if the rows stay on the executors: many, and nothing about them goes row by row.

        Where columns that nobody reads are gone the rows stay in any case: they are rows of the table no more.
        """
        if self._narrow:
            return True
        if self._facts.rows <= DRIVER_ROWS or self._judge.holding.columns or _has_limits(self._table):
            return False
        if store is None and self._facts.deletions and left_open(self._table):
            return False  # each of them has to find its row
        if store is None:
            return all(item.rows is None for item in self._late)
        return not self._late and not self._facts.updates

    def folded(self, store: KeyStore | None, live: RowCounts | None, counts: Callable[[], RowCounts]) -> Intake:
        """The change of the table."""
        self._check()
        return self._plain(live, counts) if store is None else self._keyed(store)

    @property
    def _late(self) -> tuple[LateColumn, ...]:
        return self._judge.lateness.columns

    def _check(self) -> None:
        facts = self._facts
        for name, value in facts.nulls.items():
            if value:
                message = f"table {self._table.name}, column {name}: found NULL in {value} rows, expected NOT NULL"
                raise DataError(Diagnostic("BAD_VALUE", message))
        if facts.unknown:
            message = f"table {self._table.name}, column {OPERATION}: found something else than '+', '-' or '~'"
            raise DataError(Diagnostic("BAD_VALUE", message))
        if facts.updates:
            message = f"table {self._table.name}: a partial update needs a PRIMARY KEY"
            raise DataError(Diagnostic("NO_PRIMARY_KEY", message))
        if facts.deletions and self._table.append_only:
            refuse_deletion(self._table, f"column {OPERATION}")

    def _plain(self, live: RowCounts | None, counts: Callable[[], RowCounts]) -> Intake:
        facts = self._facts
        if facts.aside:
            self._set_aside()
        delta = self.measured.change()
        if facts.deletions:
            live = counts()
            live.check_frame(delta)
        values = {item.column.name.lower(): [facts.greatest[item.place]] for item in self._late}
        intake = Intake(self._table, delta, self._judge.lateness.moved(values), facts.rows)
        if live is None:
            return intake
        return replace(intake, apply=partial(live.commit, delta), propose=partial(live.propose, delta))

    def _set_aside(self) -> None:
        found = self.measured.aside()
        for *row, why in python_rows(found):
            self._judge.rejections.add(
                self._table.name, why, row_json(dict(zip(found.column_names, row, strict=False)))
            )

    def _keyed(self, store: KeyStore) -> Intake:
        _check_keys(self._table, self.measured.rows)
        delta = self.measured.replacing(store.base_frame())
        if self._table.append_only and delta.takes_back():
            refuse_deletion(self._table, "the DataFrame given")
        lateness, rows = self._judge.lateness, self._facts.rows
        return Intake(self._table, delta, lateness, rows, store.commit, propose=lambda: store.propose(delta))


def _only_views_read(table: Table, judge: Judge) -> bool:
    """True if the rows of a table are wanted by views alone, and no fold of them goes row by row."""
    kept = bool(table.key) or table.history.lower() != "none" or not table.append_only
    by_row = bool(judge.holding.columns) or any(item.rows is not None for item in judge.lateness.columns)
    return not kept and not by_row and not _has_limits(table)


def _has_limits(table: Table) -> bool:
    """True if a column has a length or a range that is checked, and filled up, row by row."""
    return any(is_checked(column.type) for column in table.columns)
