"""The checked input for one table in one step: a `Batch` of rows in declared types, and an operation for each.

Python rows are tuples in the order of the columns, or dicts by name; an operation stands before them:
`('+', row)` insert or upsert, `('-', row)` delete, `('~', row)` partial update by key (NULL = unchanged).
Arrow and pandas carry it in a column `__op`, and the arrival order in `__seq`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, tzinfo
from typing import Any, NoReturn

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.backends.columns import arrow_schema, arrow_type, python_rows
from penstock.backends.leaves import in_micros
from penstock.backends.parts import part_changer
from penstock.backends.sound import is_sound
from penstock.catalog.model import EVENT_TIME, Column, Table
from penstock.catalog.reserved import ARRIVED, OPERATION, POSITION, SEQUENCE
from penstock.catalog.types import is_checked
from penstock.errors import DataError, Diagnostic, did_you_mean
from penstock.steps.rows.cells import cells
from penstock.steps.rows.defaults import Defaults, draws
from penstock.steps.rows.new_columns import (
    NewColumns,
    kind_of_text,
    kind_of_value,
    kinds_of,
    two_columns,
    wrong_names,
)
from penstock.steps.rows.partitioned import Partitioned, joined
from penstock.steps.rows.rejected import BAD_ROW, Rejections, row_json
from penstock.steps.rows.row_lines import RowLines
from penstock.steps.rows.values import STRICT, BadValue, Convert, Json, Leniency, converter, is_missing, shown

INSERT, DELETE, UPDATE = "+", "-", "~"
OPERATIONS = (INSERT, DELETE, UPDATE)
Place = Callable[[int], str]
NO_LINES = RowLines()


def row_number(index: int) -> str:
    """The place of a row in a list, counted from 1."""
    return f"row {index + 1}"


@dataclass(frozen=True, slots=True)
class Operated:
    """A row with what is done with it, which may be no operation at all: both came from outside."""

    operation: Any
    row: Any


@dataclass(frozen=True, slots=True)
class PartialRow(Operated):
    """A row that is inserted, of which a source has not sent some columns, since they are as they were.

    They are those of the row of its key; or, where it has got another key, of the row that the item before it deletes.
    """

    unsent: frozenset[str] = frozenset()
    moved: bool = False


@dataclass(frozen=True, slots=True)
class Unsent:
    """The places of columns that a row of a batch lacks; `before` is the row that deletes the one that has them."""

    places: frozenset[int]
    before: int | None = None


@dataclass(frozen=True)
class Batch:
    """Rows for one table: `rows` in the table's columns and types, `operations` (None: all inserts), their places.

    `partitions` says from which partition of a source each row has come, where there are several. A `complete` one has
    the values of the computed columns that its table keeps. `unsent` has the rows that lack some values. Rows that are
    not `ordered` have all come at once.
    """

    table: Table
    rows: pa.Table
    operations: tuple[str, ...] | None = None
    place: Place = field(default=row_number)
    partitions: Partitioned | None = None
    complete: bool = False
    unsent: Mapping[int, Unsent] = field(default_factory=dict)
    ordered: bool = True

    def __post_init__(self) -> None:
        """Each row has its place among the partitions."""
        assert self.partitions is None or len(self.partitions.places) == self.rows.num_rows  # noqa: S101 - else it would be judged by another's

    def __len__(self) -> int:
        return int(self.rows.num_rows)

    def operation(self, index: int) -> str:
        """The operation on one row."""
        return INSERT if self.operations is None else self.operations[index]

    def json(self, index: int) -> str:
        """One row as JSON."""
        return row_json(self._values(index, self.table.columns))

    def given(self, index: int) -> dict[str, Any]:
        """One row as it can be given: without what is hidden."""
        return self._values(index, self.table.shown)

    def _values(self, index: int, columns: Sequence[Column]) -> dict[str, Any]:
        rows = self.rows.select([column.name for column in columns]).slice(index, 1)
        return dict(zip((column.name for column in columns), python_rows(rows)[0], strict=True))

    def stamped(self, clock: datetime, step: int = 0, lines: RowLines = NO_LINES) -> Batch:
        """The batch with what a step gives to an inserted row that leaves an `optional` column open.

        That is the step's clock, the row's position among all that have arrived, and the waterlines before the step.
        """
        rows = self.rows
        for at, column in enumerate(self.table.columns):
            if column.keeps_waterlines:
                kept = pa.repeat(lines.scalar(self.table, column), len(self))
                rows = rows.set_column(at, rows.field(at), kept)
            elif column.optional and column.computed is None and rows.column(at).null_count:
                given = self._positions(step) if column.name == POSITION else clock_in(clock, column)
                if self.operations is not None:
                    given = pc.if_else(pc.equal(pa.array(self.operations, pa.string()), INSERT), given, None)
                rows = rows.set_column(at, rows.field(at), pc.coalesce(rows.column(at), given))
        return self if rows is self.rows else replace(self, rows=rows)

    def _positions(self, step: int) -> pa.Array:
        """The position of each row: by step, then by place in it."""
        first = first_position(step)
        if not self.ordered and self.table.column(ARRIVED) is None:
            return pa.repeat(pa.scalar(first, pa.int64()), len(self))
        return pa.array(np.arange(first, first + len(self), dtype=np.int64))

    def taken(self, start: int, length: int) -> Batch:
        """A part of the batch, with its places."""
        operations = None if self.operations is None else self.operations[start : start + length]
        partitions = None if self.partitions is None else self.partitions.taken(slice(start, start + length))
        rows = self.rows.slice(start, length)
        unsent = _renumbered(self.unsent, {index: index - start for index in range(start, start + length)})
        place = lambda index: self.place(start + index)  # noqa: E731
        return Batch(self.table, rows, operations, place, partitions, unsent=unsent, ordered=self.ordered)

    def chosen(self, kept: Sequence[int]) -> Batch:
        """Some rows of the batch, with their operations and places."""
        operations = None if self.operations is None else tuple(self.operations[index] for index in kept)
        place = self.place
        rows = self.rows.take(pa.array(kept, pa.int64()))
        partitions = None if self.partitions is None else self.partitions.taken(kept)
        unsent = _renumbered(self.unsent, {old: new for new, old in enumerate(kept)} if self.unsent else {})
        chosen_place = lambda index: place(kept[index])  # noqa: E731
        return Batch(self.table, rows, operations, chosen_place, partitions, unsent=unsent, ordered=self.ordered)


def _renumbered(unsent: Mapping[int, Unsent], numbers: Mapping[int, int]) -> dict[int, Unsent]:
    """The same of rows that have other numbers; one that is not there any more is -1."""
    found = {}
    for index, item in unsent.items():
        if index in numbers:
            before = None if item.before is None else numbers.get(item.before, -1)
            found[numbers[index]] = Unsent(item.places, before)
    return found


def first_position(step: int) -> int:
    """The position of the first row that a step brings for a table: a step has room for 2^32."""
    return step << 32


def clock_in(clock: datetime, column: Column) -> pa.Scalar:
    """The clock as a value of a column."""
    return pa.scalar(clock.replace(tzinfo=UTC), arrow_type(column.type))


def concatenated(batches: Sequence[Batch]) -> Batch:
    """Several batches of one table, one after the other."""
    if len(batches) == 1:
        return batches[0]
    starts: list[int] = []
    total = 0
    for batch in batches:
        starts.append(total)
        total += len(batch)

    def place(index: int) -> str:
        which = max(at for at, start in enumerate(starts) if start <= index)
        return batches[which].place(index - starts[which])

    operations: tuple[str, ...] | None = None
    if any(batch.operations is not None for batch in batches):
        operations = tuple(batch.operation(index) for batch in batches for index in range(len(batch)))
    partitions = joined([(batch.partitions, len(batch)) for batch in batches])
    unsent: dict[int, Unsent] = {}
    for batch, start in zip(batches, starts, strict=True):
        unsent |= _renumbered(
            batch.unsent, {index: start + index for index in range(len(batch))} if batch.unsent else {}
        )
    rows, ordered = pa.concat_tables([batch.rows for batch in batches]), all(batch.ordered for batch in batches)
    return Batch(batches[0].table, rows, operations, place, partitions, unsent=unsent, ordered=ordered)


class RowReader:
    """Checks rows against a table's declaration.

    `defaults` fill the columns that a row by name leaves out; `lenient` is for sources that do not know all kinds.
    `new` is told of columns that rows have and the table lacks, where these are not left out or refused.
    """

    def __init__(
        self,
        table: Table,
        defaults: Defaults,
        zone: tzinfo = UTC,
        lenient: Leniency = STRICT,
        new: NewColumns | None = None,
    ) -> None:
        self.table = table
        self.defaults = defaults
        self._lenient = lenient
        self._new = new
        self._columns = table.columns
        self._names = {column.name.lower(): at for at, column in enumerate(table.columns) if not column.hidden}
        self._written = {column.written: at for at, column in enumerate(table.columns) if column.written}
        if (time := self._names.get((table.event_time or "").lower())) is not None:
            self._names[EVENT_TIME] = time
        self._converters: list[Convert] = [converter(column.type, zone, lenient) for column in table.columns]
        self._key = {self._names[name.lower()] for name in table.key}
        self._zone = zone
        self._given: dict[int, Any] = {}
        self._kinds: Mapping[str, str] = {}

    def know(self, kinds: Mapping[str, str]) -> None:
        """Take note of the types that the source says of columns which the table lacks; others go by their values."""
        self._kinds = {name.lower(): kind for name, kind in kinds.items()}

    def read(self, items: Iterable[Any], rejections: Rejections, place: Place = row_number) -> Batch:
        """The checked rows; a bad one raises DataError, or goes to the rejections if those are tolerant."""
        self._given = {}
        operations: list[str] = []
        rows: list[list[Any]] = []
        places: list[int] = []
        unsent: dict[int, Unsent] = {}
        for index, item in enumerate(items):
            try:
                operation, row = self._one(item, place(index), alone=rejections.tolerant)
            except DataError as error:
                if not rejections.tolerant:
                    raise
                reject_row(rejections, self.table, place(index), error, item)
                continue
            if isinstance(item, PartialRow):
                before = (len(rows) - 1 if places and places[-1] == index - 1 else -1) if item.moved else None
                unsent[len(rows)] = Unsent(self._unsent(item), before)
            operations.append(operation)
            rows.append(row)
            places.append(index)
        columns = [[row[at] for row in rows] for at in range(len(self._columns))]
        return Batch(
            self.table,
            self._arrow(columns),
            None if all(operation == INSERT for operation in operations) else tuple(operations),
            lambda index: place(places[index]),
            unsent=unsent,
        )

    def _unsent(self, item: Any) -> frozenset[int]:
        """The places of the columns that were not sent."""
        names = item.unsent if isinstance(item, PartialRow) else ()
        return frozenset(at for name in names if (at := self._place(name)) is not None)

    def _arrow(self, columns: list[list[Any]]) -> pa.Table:
        schema = arrow_schema(self._columns)
        return pa.Table.from_arrays(
            [pa.array(values, field.type) for values, field in zip(columns, schema, strict=True)], schema=schema
        )

    def _one(self, item: Any, place: str, *, alone: bool) -> tuple[str, list[Any]]:
        """One row; what the table refuses of it in any step is refused here if the row can be left out `alone`."""
        operation, given = split_operation(item)
        if operation != INSERT:
            self._check_operation(operation, place, alone=alone)
        values = (
            self._by_name(given, operation, place)
            if isinstance(given, Mapping)
            else self._by_position(given, operation, place)
        )
        unsent = self._unsent(item)
        for at, value in enumerate(values):
            if at in unsent:
                values[at] = None
                continue
            if value is None:
                self._allow_null(at, operation, place)
                continue
            try:
                values[at] = self._converters[at](value)
            except (ArithmeticError, ValueError, TypeError) as error:
                if not is_missing(value) and not self._lenient.bad_is_null:  # asked only here, where it costs little
                    what = str(error) if isinstance(error, BadValue) else f"found {shown(value)}"
                    self._refuse(at, place, what)
                values[at] = None
                self._allow_null(at, operation, place)
        return operation, values

    def _check_operation(self, operation: Any, place: str, *, alone: bool) -> None:
        """Refuse what is no operation, or none that the table takes."""
        if operation not in OPERATIONS:
            found = f"found {shown(operation)}, expected '+', '-' or '~'"
            refuse(self.table, f"{place}, column {OPERATION}", found)
        if operation == UPDATE and self.table.computing:
            told = self.table.computing[0].told
            refuse(self.table, place, f"a partial update, by which {told} cannot be computed anew")
        if alone and operation == UPDATE and not self._key:
            refuse_update(self.table, place)
        if alone and self.table.append_only:
            refuse_deletion(self.table, place)

    def _by_position(self, given: Any, operation: str, place: str) -> list[Any]:
        if isinstance(given, str | bytes) or not hasattr(given, "__iter__"):
            refuse(self.table, place, f"found {shown(given)}, expected a tuple of {len(self._columns)} values")
        values = list(given)
        if operation == DELETE and len(values) == len(self._key) < len(self._columns):
            return self._key_only(values)
        required = self.table.required
        if not len(required) <= len(values) <= len(self.table.shown):
            names = ", ".join(column.name for column in required)
            refuse(self.table, place, f"found {len(values)} values, expected {len(required)} ({names})")
        left_out = range(len(values), len(self._columns))
        return values + [self._default(at) if operation == INSERT else None for at in left_out]

    def _key_only(self, key: list[Any]) -> list[Any]:
        values: list[Any] = [None] * len(self._columns)
        for name, value in zip(self.table.key, key, strict=True):
            values[self._names[name.lower()]] = value
        return values

    def _by_name(self, given: Mapping[Any, Any], operation: str, place: str) -> list[Any]:
        values: list[Any] = [_MISSING] * len(self._columns)
        beyond: dict[str, Any] = {}
        for name, value in given.items():
            at = self._place(str(name))
            if at is not None:
                if self._new is not None and values[at] is not _MISSING:
                    refuse(self.table, place, two_columns(str(name)))
                values[at] = value
            elif self._new is not None:
                beyond[str(name)] = value
            elif not self._lenient.ignore_unknown:
                unknown_column(self.table, str(name), place)
        if beyond:
            self._note(beyond, place)
        for at, value in enumerate(values):
            if value is _MISSING:
                if self._lenient.complete and not self._columns[at].hidden and not self._columns[at].optional:
                    self._refuse(at, place, "found no such field")
                values[at] = self._default(at) if operation == INSERT else None
        return values

    def _note(self, beyond: Mapping[str, Any], place: str) -> None:
        """Take note of what a row has beyond the columns of the table; DataError for what cannot be columns."""
        assert self._new is not None  # noqa: S101 - the caller has looked
        if wrong := wrong_names(beyond, len(self._columns)):
            refuse(self.table, place, wrong)
        kind_of = kind_of_text if self._lenient.new == "texts" else kind_of_value
        for name, value in beyond.items():
            if value is not None:
                self._new.note(name, self._kinds.get(name.lower()) or kind_of(value))

    def _place(self, name: str) -> int | None:
        """The place of the column of that name."""
        return self._written.get(name, self._names.get(name.lower()))

    def _default(self, at: int) -> Any:
        """The default of a column: rows that come together have one time, and each a random value of its own."""
        column = self._columns[at]
        if column.optional:
            return None  # the step's clock, which is not known before the step
        if at not in self._given or (column.default is not None and draws(column.default)):
            self._given[at] = self.defaults.value(column)
        return self._given[at]

    def _allow_null(self, at: int, operation: str, place: str) -> None:
        required = at in self._key or (not self._columns[at].nullable and operation == INSERT)
        if self._columns[at].optional:
            return
        if required or (operation == DELETE and not self._key and not self._columns[at].nullable):
            self._refuse(at, place, "found NULL", "NOT NULL")

    def _refuse(self, at: int, place: str, found: str, expected: str | None = None) -> NoReturn:
        column = self._columns[at]
        wanted = f"{column.type.upper()}{' ' + expected if expected else ''}"
        refuse(self.table, f"{place}, column {column.name}", f"{found}, expected {wanted}")

    def read_arrow(
        self, data: pa.Table, rejections: Rejections, place: Place = row_number, *, carried: bool = False
    ) -> Batch:
        """The checked rows of an Arrow table, cast column by column; per row only where a cast cannot tell.

        In rows that Spark has `carried` here a VARIANT is its JSON; otherwise a text is a VARIANT that is a text.
        """
        data = self._known_columns(_in_sequence(in_micros(data) if self._lenient.text else data))
        operations = _operations(data)
        given = [name for name in data.column_names if name not in (OPERATION, SEQUENCE)]
        by_place = {at: data.column(name) for name in given if (at := self._place(name)) is not None}
        columns = [
            self._cast(at, by_place[at], carried=carried) if at in by_place else self._left_out(at, data.num_rows)
            for at in range(len(self._columns))
        ]
        plain = operations is None or self._takes(operations, alone=rejections.tolerant)
        if not plain or any(column is None for column in columns) or not self._complete(columns, operations):
            return self._row_by_row(data, rejections, place, carried=carried)
        return Batch(self.table, pa.Table.from_arrays(columns, schema=arrow_schema(self._columns)), operations, place)

    def _known_columns(self, data: pa.Table) -> pa.Table:
        known = [name for name in data.column_names if self._place(name) is not None or name in (OPERATION, SEQUENCE)]
        if len(known) < data.num_columns and self._new is not None:
            for name, kind in kinds_of(data.drop_columns(known), texts=self._lenient.new == "texts").items():
                self._new.note(name, kind)
        elif len(known) < data.num_columns and not self._lenient.ignore_unknown:
            unknown_column(self.table, next(name for name in data.column_names if name not in known), "the table given")
        return data.select(known) if len(known) < data.num_columns else data

    def _left_out(self, at: int, length: int) -> pa.ChunkedArray | None:
        """The values of a column that nobody gives; None where each row must be asked for its own."""
        column = self._columns[at]
        plain = column.default is None or column.optional
        return pa.chunked_array([pa.nulls(length, arrow_type(column.type))]) if plain else None

    def _cast(self, at: int, given: pa.ChunkedArray, *, carried: bool) -> pa.ChunkedArray | None:
        column, target = self._columns[at], arrow_type(self._columns[at].type)
        if is_checked(column.type) or ("variant" in column.type.lower() and not carried):
            return None
        found = self._fitting(given, target)
        return found if found is not None and is_sound(found) else None

    def _fitting(self, given: pa.ChunkedArray, target: pa.DataType) -> pa.ChunkedArray | None:
        if given.type == target:
            return given
        if pa.types.is_string(given.type):
            if pa.types.is_temporal(target):
                return _from_text(given, target) if self._zone is UTC and not self._lenient.epoch_text else None
            return _number_from_text(given, target) if self._lenient.text else None
        return _lossless(given, target)

    def _takes(self, operations: tuple[Any, ...], *, alone: bool) -> bool:
        """True if all are operations that the table takes."""
        if not all(operation in OPERATIONS for operation in operations):
            return False
        if self.table.computing and UPDATE in operations:
            return False
        return not alone or (not self.table.append_only and (bool(self._key) or UPDATE not in operations))

    def _complete(self, columns: Sequence[pa.ChunkedArray], operations: tuple[str, ...] | None) -> bool:
        """True if no NULL stands where none may: in an inserted row none of NOT NULL, in others none of the key."""
        required = [at for at, column in enumerate(self._columns) if not (column.nullable or column.optional)]
        required += [at for at in self._key if at not in required]
        missing = [at for at in required if columns[at].null_count]
        if operations is None or not self._key or any(at in self._key for at in missing):
            return not missing
        inserted = pa.array([operation == INSERT for operation in operations])
        return not any(pc.any(pc.and_(pc.is_null(columns[at]), inserted)).as_py() for at in missing)

    def read_arrow_rows(
        self, rows: Sequence[Mapping[str, Any]], rejections: Rejections, place: Place = row_number
    ) -> Batch:
        """The checked rows of dicts that may hold `__op` and `__seq`."""
        ordered = sorted(rows, key=lambda row: row[SEQUENCE]) if rows and SEQUENCE in rows[0] else rows
        items = [
            Operated(
                row.get(OPERATION, INSERT),
                {name: value for name, value in row.items() if name not in (OPERATION, SEQUENCE)},
            )
            for row in ordered
        ]
        return self.read(items, rejections, place)

    def _row_by_row(self, data: pa.Table, rejections: Rejections, place: Place, *, carried: bool) -> Batch:
        names = [name for name in data.column_names if name not in (OPERATION, SEQUENCE)]
        operations = cells(data.column(OPERATION)) if OPERATION in data.column_names else None
        rows = python_dicts(data.select(names))
        if carried:
            kinds = {name: self._columns[self._names[name.lower()]].type for name in names}
            marked = {name: mark for name, kind in kinds.items() if (mark := part_changer(kind, "variant", Json))}
            for row in rows:
                row.update((name, mark(row[name])) for name, mark in marked.items())
        items = rows if operations is None else list(map(Operated, operations, rows))
        return self.read(items, rejections, place)


_MISSING = object()


def python_dicts(data: pa.Table) -> list[dict[str, Any]]:
    """Rows by name; what Python cannot hold is `Unreadable`."""
    columns = [cells(column) for column in data.columns]
    return [dict(zip(data.column_names, row, strict=True)) for row in zip(*columns, strict=True)] or [
        {}
    ] * data.num_rows


def _operations(data: pa.Table) -> tuple[Any, ...] | None:
    """The operation on each row; None if all of them are inserted."""
    if OPERATION not in data.column_names:
        return None
    found = tuple(cells(data.column(OPERATION)))
    return None if all(operation == INSERT for operation in found) else found


def _in_sequence(data: pa.Table) -> pa.Table:
    if SEQUENCE not in data.column_names:
        return data
    return data.take(pc.sort_indices(data, sort_keys=[(SEQUENCE, "ascending")]))


def _from_text(given: pa.ChunkedArray, target: pa.DataType) -> pa.ChunkedArray | None:
    """Text as points in time, if all of it is plain ISO without an offset."""
    if not (pa.types.is_timestamp(target) or pa.types.is_date(target)):
        return None
    try:
        return given.cast(pa.timestamp("us") if pa.types.is_timestamp(target) else target).cast(target)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return None


def _number_from_text(given: pa.ChunkedArray, target: pa.DataType) -> pa.ChunkedArray | None:
    """Text as numbers or booleans, if all of it is plain; a number of four bytes is found by way of eight."""
    if not (_is_number(target) or pa.types.is_boolean(target)) or pa.types.is_float32(target):
        return None
    if not pc.all(pc.match_substring_regex(given, _PLAIN)).as_py():
        return None
    try:
        return given.cast(target)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return None


# What Arrow and Python read alike: Arrow knows hexadecimal numbers, Python blanks around a number.
_PLAIN = r"^(?i:[-0-9.e]+|true|false)$"


def _lossless(given: pa.ChunkedArray, target: pa.DataType) -> pa.ChunkedArray | None:
    source = given.type
    if pa.types.is_dictionary(source):
        return _lossless(given.cast(source.value_type), target)
    if source == target:
        return given
    numeric = _is_number(source) and _is_number(target)
    temporal = pa.types.is_timestamp(source) and pa.types.is_timestamp(target)
    text = pa.types.is_large_string(source) and pa.types.is_string(target)
    if not (numeric or temporal or text or pa.types.is_null(source)):
        return None
    if pa.types.is_floating(source) and pa.types.is_decimal(target):
        return None  # Arrow goes by the binary fraction: 1.005 would be 1.00
    try:
        found = given.cast(target, safe=True)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return None
    return found if not _overflows(given, found) else None


def _overflows(given: pa.ChunkedArray, found: pa.ChunkedArray) -> bool:
    """True if finite numbers have become infinite ones."""
    if not pa.types.is_floating(found.type) or pa.types.is_integer(given.type):
        return False
    infinite = pc.sum(pc.is_inf(found)).as_py() or 0
    before = (pc.sum(pc.is_inf(given)).as_py() or 0) if pa.types.is_floating(given.type) else 0
    return bool(infinite != before)


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))


def split_operation(item: Any) -> tuple[Any, Any]:
    """`('-', row)` as its two halves; anything else is a row to insert."""
    if isinstance(item, Operated):
        return item.operation, item.row
    if (
        isinstance(item, tuple | list)
        and len(item) == 2  # noqa: PLR2004 - an operation and its row
        and isinstance(item[0], str)
        and item[0] in OPERATIONS
        and isinstance(item[1], tuple | list | Mapping)
    ):
        return item[0], item[1]
    return INSERT, item


def refuse(table: Table, place: str, what: str) -> NoReturn:
    """Raise the DataError of a row that does not fit."""
    raise bad_value(table, place, what)


def bad_value(table: Table, place: str, what: str) -> DataError:
    """The DataError of a row that does not fit."""
    return DataError(Diagnostic("BAD_VALUE", f"table {table.name}, {place}: {what}"))


def refuse_update(table: Table, place: str) -> NoReturn:
    """Raise the DataError of a partial update that has no key to go by."""
    message = f"table {table.name}, {place}: a partial update needs a PRIMARY KEY"
    raise DataError(Diagnostic("NO_PRIMARY_KEY", message, hint="delete the old row and insert the new one"))


def refuse_deletion(table: Table, place: str) -> NoReturn:
    """Raise the DataError of a deletion from an append-only table."""
    kind = "a stream" if table.stream else "append_only"
    message = f"table {table.name}, {place}: rows cannot be deleted or changed, {table.name} is {kind}"
    raise DataError(Diagnostic("APPEND_ONLY", message))


def unknown_column(table: Table, name: str, place: str) -> NoReturn:
    """Raise the DataError of a row with a column that the table does not have."""
    known = [column.name for column in table.shown]
    message = f"table {table.name}, {place}: there is no column {name[:100]}; the columns are {', '.join(known)}"
    raise DataError(Diagnostic("UNKNOWN_COLUMN", message, candidates=did_you_mean(name, known)))


def reject_row(rejections: Rejections, table: Table, place: str, error: DataError, row: Any) -> None:
    """Keep a row that does not fit, with its place and what is wrong with it."""
    if isinstance(row, Operated):
        row = row.row if row.operation == INSERT else (row.operation, row.row)
    detail = {"place": place, "error": error.diagnostics[0].message, "row": row}
    rejections.add(table.name, BAD_ROW, row_json(detail))
