"""The rows of standing statements as operations on the table that they write into.

    without a key   what is taken back, then what is added; a row that is not there any more goes to `error_view`
    with a key      net for each key: a row that comes replaces the key's; one that is only taken back ends the key, but
                    not where something else has replaced it

DELETE that stands ends the keys of its rows, and UPDATE sets columns of those that are there, in the order of
statements.
Where several rows come for one key the last in the order of their columns stays, NULLs first, or in that of ORDER BY.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import partial
from math import isnan
from types import MappingProxyType
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from penstock.backends.columns import arrow_rows, arrow_schema, python_rows
from penstock.backends.rows import Key, Row, canonical_row
from penstock.catalog.model import Writing
from penstock.catalog.reserved import OPERATION, WEIGHT
from penstock.errors import DataError, Diagnostic
from penstock.steps.intake.keystore import KeyStore
from penstock.steps.rows.batch import DELETE, INSERT, UPDATE, Batch, RowReader
from penstock.steps.rows.rejected import Rejections

_OPERATIONS: Mapping[str, str] = MappingProxyType({"delete": DELETE, "update": UPDATE})


@dataclass(frozen=True, slots=True)
class Given:
    """The weighted rows that one statement writes in a step, under the names of its columns; some have an order."""

    name: str
    writing: Writing
    rows: pa.Table
    ordered: bool = False


@dataclass(frozen=True, slots=True)
class _Read:
    """The same, checked: what is taken back, and what is added."""

    writing: Writing
    removed: Batch
    added: Batch
    ordered: bool


def written_batches(
    given: Sequence[Given], own: Sequence[Batch], reader: RowReader, store: KeyStore | None, rejections: Rejections
) -> list[Batch]:
    """The operations of statements on a table, behind its `own` ones of the step; `store` has the rows of keys."""
    read = [_read(item, reader, rejections, by_key=store is not None) for item in given]
    if store is None:
        return [item.removed for item in read] + [item.added for item in read]
    return _Keyed(store, own, read, partial(reader.read_arrow, rejections=rejections, carried=True)).batches()


def _read(given: Given, reader: RowReader, rejections: Rejections, *, by_key: bool) -> _Read:
    weights = given.rows.column(WEIGHT)
    rows = given.rows.drop_columns([WEIGHT])
    gone = _repeated(rows, pc.negate(weights), once=by_key)
    come = _repeated(rows, weights, once=by_key)
    operations = pa.array([DELETE] * gone.num_rows, pa.string())

    def place(index: int) -> str:
        return f"row {index + 1} of {given.name}"

    removed = reader.read_arrow(gone.append_column(OPERATION, operations), rejections, place, carried=True)
    if given.writing.does != "insert":
        come = _with_keys(come, reader.table.key)
        operations = pa.array([_OPERATIONS[given.writing.does]] * come.num_rows, pa.string())
        come = come.append_column(OPERATION, operations)
    added = reader.read_arrow(come, rejections, place, carried=True)
    return _Read(given.writing, removed, added, given.ordered)


def _with_keys(rows: pa.Table, key: Iterable[str]) -> pa.Table:
    """The rows that name a key: NULL is no row's."""
    names = {name.lower() for name in key}
    for name in [name for name in rows.column_names if name.lower() in names]:
        rows = rows.filter(pc.is_valid(rows.column(name)))
    return rows


def _repeated(rows: pa.Table, weights: pa.ChunkedArray, *, once: bool) -> pa.Table:
    """The rows with a weight above zero, each as often as that says, or `once`."""
    found = rows.filter(pc.greater(weights, 0))
    times = [int(weight) for weight in weights.to_pylist() if weight > 0]
    if once or all(weight == 1 for weight in times):
        return found
    return found.take(pa.array([place for place, weight in enumerate(times) for _ in range(weight)], pa.int64()))


@dataclass
class _Keyed:
    """The operations on a table with a key; `now` has the row of each key that the step's own rows have touched."""

    store: KeyStore
    own: Sequence[Batch]
    read: Sequence[_Read]
    checked: Callable[..., Batch]
    now: dict[Key, Row | None] = field(default_factory=dict)
    touched: set[Key] = field(default_factory=set)

    def batches(self) -> list[Batch]:
        self.read = [item if item.ordered else replace(item, added=self._in_order(item.added)) for item in self.read]
        looks = (_looks(item.writing) for item in self.read)
        if not any(looks) and not any(len(item.removed) for item in self.read):
            return [item.added for item in self.read]
        self._look_up()
        come = [item for item in self.read if item.writing.does == "insert"]
        added = {self.store.key(row) for item in come for row in python_rows(item.added.rows)}
        removed = [_chosen(item.removed, self._ending(item, added)) for item in self.read]
        return removed + [self._added(item) for item in self.read]

    def _in_order(self, batch: Batch) -> Batch:
        """The rows in the order of their columns, where several are for one key."""
        rows = python_rows(batch.rows)
        if len({self.store.key(row) for row in rows}) == len(rows):
            return batch
        return _chosen(batch, sorted(range(len(rows)), key=[_in_line(row) for row in rows].__getitem__))

    def _look_up(self) -> None:
        rows = [row for item in self.read for batch in (item.removed, item.added) for row in python_rows(batch.rows)]
        wanted = {self.store.key(row): row for row in rows}
        self.now = dict(self.store.lookup(wanted))
        for batch in self.own:
            for index, row in enumerate(python_rows(batch.rows)):
                key = self.store.key(row)
                self.touched.add(key)
                self.now[key] = self._after(batch.operation(index), row)

    def _ending(self, item: _Read, added: set[Key]) -> Iterator[int]:
        """The places of rows whose key ends: nothing comes for it, and what is there is what is taken back."""
        names = {name.lower() for name in item.writing.columns}
        places = [at for at, column in enumerate(self.store.table.columns) if column.name.lower() in names]
        for index, row in enumerate(python_rows(item.removed.rows)):
            key = self.store.key(row)
            there = self.now.get(key)
            if there is not None and _part(there, places) == _part(row, places):
                self.now[key] = None
                if key not in added or item.writing.unless_there or item.writing.alone:
                    yield index

    def _after(self, operation: str, row: Row) -> Row | None:
        """The row of a key after an operation on it."""
        there = self.now.get(self.store.key(row))
        if operation == UPDATE and there is not None:
            return tuple(old if new is None else new for old, new in zip(there, row, strict=True))
        return row if operation == INSERT else None

    def _added(self, item: _Read) -> Batch:
        if item.writing.does == "update":
            return self._updated(item)
        if item.writing.unless_there:
            return _chosen(item.added, self._absent(item.added))
        if item.writing.alone:
            self._refuse_there(item.added)
        for index, row in enumerate(python_rows(item.added.rows)):
            self.now[self.store.key(row)] = self._after(item.added.operation(index), row)
        return item.added

    def _updated(self, item: _Read) -> Batch:
        """The rows of keys that are there, with other values in the columns that are set."""
        table = self.store.table
        names = {name.lower() for name in item.writing.columns}
        places = {at for at, column in enumerate(table.columns) if column.name.lower() in names}
        found: list[Row] = []
        chosen: list[int] = []
        for index, row in enumerate(python_rows(item.added.rows)):
            there = self.now.get(self.store.key(row))
            if there is not None:
                found.append(tuple(row[at] if at in places else value for at, value in enumerate(there)))
                chosen.append(index)
                self.now[self.store.key(row)] = found[-1]
        return self.checked(
            arrow_rows(arrow_schema(table.columns), found), place=lambda at: item.added.place(chosen[at])
        )

    def _refuse_there(self, batch: Batch) -> None:
        """DataError for a row whose key is there already, or comes twice."""
        seen: set[Key] = set()
        for index, row in enumerate(python_rows(batch.rows)):
            key = self.store.key(row)
            if self.now.get(key) is not None or key in seen:
                message = (
                    f"{batch.place(index)} is {batch.json(index)}, and {batch.table.name} has a row of its key already"
                )
                hint = "ON CONFLICT DO NOTHING keeps the row that is there; without it the last row stays"
                raise DataError(Diagnostic("CONFLICT", message, hint=hint))
            seen.add(key)

    def _absent(self, batch: Batch) -> Iterator[int]:
        """The places of the first row of each key that is not there."""
        for index, row in enumerate(python_rows(batch.rows)):
            key = self.store.key(row)
            if self.now.get(key) is None:
                self.now[key] = row
                yield index


def _looks(writing: Writing) -> bool:
    """True if what becomes of a row depends on the one that is there."""
    return writing.unless_there or writing.alone or writing.does == "update"


def _part(row: Row, places: Iterable[int]) -> Key:
    return canonical_row([row[place] for place in places])


def _in_line(row: Row) -> tuple[tuple[int, Any], ...]:
    """The place of a row among others: NULLs first, NaN last; values that do not compare by what they look like."""
    return tuple(_place(value) for value in row)


def _place(value: Any) -> tuple[int, Any]:
    if value is None:
        return 0, 0
    if isinstance(value, float | Decimal) and isnan(value):
        return 2, 0
    return 1, repr(value) if isinstance(value, dict | list | tuple) else value


def _chosen(batch: Batch, places: Iterable[int]) -> Batch:
    found = list(places)
    if found == list(range(len(batch))):
        return batch
    operations = None if batch.operations is None else tuple(batch.operations[place] for place in found)
    rows = batch.rows.take(pa.array(found, pa.int64()))
    partitions = None if batch.partitions is None else batch.partitions.taken(found)
    return Batch(batch.table, rows, operations, lambda at: batch.place(found[at]), partitions)
