"""The messages of a slot as rows of a source's table, whole transactions of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from penstock.errors import DataError, Diagnostic
from penstock.sources.postgres.columns import TableColumns
from penstock.sources.postgres.declared import TRUNCATE
from penstock.sources.postgres.messages import (
    Committed,
    Relation,
    RowChange,
    Truncated,
    Unchanged,
    Values,
    message_of,
)
from penstock.sources.postgres.position import SlotPosition
from penstock.sources.postgres.slot import Slot
from penstock.sources.postgres.values import Load
from penstock.steps.rows.batch import DELETE, INSERT, Operated, PartialRow

Item = tuple[str, Operated]  # a row, with its place


@dataclass
class Read:
    """All that one reading has brought: the rows, and from where to where; `start` is None before the first."""

    start: SlotPosition | None
    end: SlotPosition
    items: list[Item] = field(default_factory=list)
    rejected: list[tuple[str, DataError, Any]] = field(default_factory=list)
    at: float | None = None  # when its last transaction was, in seconds since 1970

    def reject(self, slot: Slot, place: str, error: ValueError, values: Iterable[Any]) -> None:
        """Leave out a row that cannot be held."""
        found = DataError(Diagnostic("BROKEN_ROW", f"table {slot.table.name}, {place}: {error}"))
        self.rejected.append((place, found, [None if value is None else str(value) for value in values]))


class Decoding:
    """Messages of a slot as rows of a source's table."""

    def __init__(self, slot: Slot, oid: int, columns: TableColumns, read: Read, load: Load) -> None:
        self._slot, self._oid, self._columns = slot, oid, columns
        self._read = read
        self._load = load
        self._end, self._used = read.end.lsn, dict(read.end.columns)
        self._relations: dict[int, Relation] = {}

    def read(self, messages: Iterable[tuple[str, bytes]]) -> None:
        """Add what the messages say to the reading."""
        for place, data in messages:
            match message_of(data):
                case Relation() as relation:
                    self._relations[relation.number] = relation
                    if relation.number == self._oid:
                        self._check_columns(relation)
                case RowChange() as change if change.relation == self._oid:
                    self._add(change, f"{self._slot.source} at {place}")
                case Truncated(relations) if self._oid in relations:
                    self._truncated(place)
                case Committed(end, at):
                    self._end, self._read.at = end, at
                case _:
                    pass
        self._read.end = SlotPosition(self._end, self._used)

    def _check_columns(self, relation: Relation) -> None:
        """Refuse to go on where a column that is read has gone, or has another type."""
        now = {column.name: column.type for column in relation.columns}
        for name, kind in self._used.items():
            if name not in now or now[name].number != kind:
                what = "is not there any more" if name not in now else "has another type"
                message = f"column {name} of {self._slot.source} {what}: the schema has changed"
                hint = "change the table in the program as well, and begin with an empty directory and a new snapshot"
                raise self._slot.error(code="SOURCE_CHANGED", message=message, hint=hint)
        self._columns.wanted(now)
        self._used = self._columns.used(now)

    def _truncated(self, place: str) -> None:
        if TRUNCATE.value(self._slot.table) == "ignore":
            return
        message = f"{self._slot.source} was truncated at {place}, which does not say which rows have gone"
        hint = "'on_truncate' = 'ignore' keeps them here; or begin with an empty directory and a new snapshot"
        raise self._slot.error(code="SOURCE_TRUNCATED", message=message, hint=hint)

    def _add(self, change: RowChange, place: str) -> None:
        """The operations of a change; a row that cannot be held is rejected alone."""
        relation = self._relations[change.relation]
        try:
            change = _with_old_values(change, relation)
            for operation, values in _operations(change, keyed=bool(self._slot.table.key)):
                row = self._row(relation, values, key_only=operation == DELETE and not change.whole)
                unsent = self._unsent(relation, values) if operation == INSERT else frozenset()
                whole = Operated(operation, row)
                item = PartialRow(operation, row, unsent, change.old is not None) if unsent else whole
                self._read.items.append((place, item))
        except ValueError as error:
            self._read.reject(self._slot, place, error, change.new or change.old or ())

    def _row(self, relation: Relation, values: Values, *, key_only: bool) -> dict[str, Any]:
        read = []
        for column, value in zip(relation.columns, values, strict=True):
            if not self._columns.reads(column.name) or (key_only and not column.in_key):
                continue
            if not isinstance(value, Unchanged):
                read.append((column.name, column.type, value))
        return self._columns.row(read, self._load)

    def _unsent(self, relation: Relation, values: Values) -> frozenset[str]:
        """The columns that are as they were, for which the table's own row is asked; ValueError if it cannot be."""
        pairs = zip(relation.columns, values, strict=True)
        # A column that the table does not have has been there before it gets it.
        names = {
            column.name for column, value in pairs if isinstance(value, Unchanged) and self._columns.has(column.name)
        }
        key = {name.lower() for name in self._slot.table.key}
        fixed = sorted(name for name in names if not key or name.lower() in key)
        if fixed:
            message = "is not sent: it is large, and has not changed (REPLICA IDENTITY FULL sends it)"
            raise ValueError(f"{fixed[0]} {message}")  # noqa: EM102, TRY003 - a value of a row
        return frozenset(
            str(column.label) for name in names if (column := self._columns.table.column(name)) is not None
        )


def _with_old_values(change: RowChange, relation: Relation) -> RowChange:
    """The change with what was not sent of the new row, as far as the old one has it: all of it, or its key."""
    if change.old is None or change.new is None:
        return change
    triples = zip(relation.columns, change.old, change.new, strict=True)
    new = [
        old if isinstance(now, Unchanged) and (change.whole or column.in_key) else now for column, old, now in triples
    ]
    return replace(change, new=tuple(new))


def _operations(change: RowChange, *, keyed: bool) -> Iterator[tuple[str, Values]]:
    """A change as deletions and insertions; with a key a row is replaced by one that has it."""
    old, new = change.old, change.new
    if old is not None and (not keyed or new is None or not change.whole or old != new):
        yield DELETE, old
    if new is not None:
        yield INSERT, new
