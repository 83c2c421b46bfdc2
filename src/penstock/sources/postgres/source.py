"""The rows of a table of PostgreSQL: all of them in the first step, then whole transactions, each once.

    {"connector": "postgres", "read": [{"slot": "penstock_t", "from": "0/1A2B", "to": {"lsn": "0/1F00", "columns": …}}]}

A manifest has the position behind the last transaction, and the columns with their types as they were. What a step has
not been made of is read again, since the slot is advanced only behind it.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from penstock.catalog.model import Table
from penstock.errors import DataError, Diagnostic
from penstock.failpoints import reach
from penstock.sources.lag import Lag
from penstock.sources.postgres.connection import Database, TableName, database_of, driver, quoted, table_named
from penstock.sources.postgres.declared import TABLE, TIMEOUT, TRUNCATE, publication_of
from penstock.sources.postgres.messages import (
    Committed,
    Relation,
    RowChange,
    Truncated,
    Unchanged,
    Values,
    lsn_number,
    lsn_text,
    message_of,
)
from penstock.sources.postgres.slot import Slot
from penstock.sources.postgres.values import given, loading
from penstock.sources.properties import duration
from penstock.steps.durable import write_atomically
from penstock.steps.intake.inputs import MakeReader
from penstock.steps.rows.batch import DELETE, INSERT, Batch, Operated, RowReader, reject_row
from penstock.steps.rows.rejected import Rejections
from penstock.steps.rows.values import STRICT

_IDLE = 16 << 20
_PAUSE = 1.0
_PEEK = "SELECT lsn::text, data FROM pg_logical_slot_peek_binary_changes(%s, NULL, %s, 'proto_version', '1', %s, %s)"
_COLUMNS = """
SELECT attname::text, atttypid::bigint FROM pg_attribute WHERE attrelid = %s AND attnum > 0 AND NOT attisdropped
"""

Item = tuple[str, Operated]  # a row, with its place


@dataclass
class _Read:
    """All that one reading has brought: the rows, from where to where, and the columns behind it."""

    items: list[Item]
    start: int | None
    end: int
    columns: Mapping[str, int]
    rejected: list[tuple[str, DataError, Any]] = field(default_factory=list)
    at: float | None = None  # when its last transaction was, in seconds since 1970


@dataclass
class PostgresSource:
    """The source of one table; `position` is behind the last transaction that a step has, None before the first."""

    table: Table
    reader: RowReader
    database: Database
    slot: Slot
    source: TableName
    now: Callable[[], float] = time.monotonic
    position: int | None = None
    columns: Mapping[str, int] = field(default_factory=dict)
    _connection: Any = None
    oid: int = 0
    _pending: _Read | None = None
    _snapshot: _Read | None = None
    _note: Path | None = None  # says which slot is ours, until a step has what it begins with
    _made: bool = False
    _failing: float | None = None
    _again: float = 0.0
    _behind: int = 0
    _newest: float | None = None
    _said: str = ""

    def read(self, rows: int, rejections: Rejections, *, ended: bool = False) -> Batch | None:
        """All rows the first time, then those of transactions, about `rows`; None while the database is away."""
        del ended
        if self.now() < self._again:
            return None
        psycopg = driver()
        try:
            found = self._next(rows)
        except (psycopg.OperationalError, psycopg.InterfaceError) as error:
            self._failed(error)
            return None
        except psycopg.Error as error:
            raise self.slot.error(
                code="SOURCE_REFUSED", message=f"{self.database.where}: {self.database.said(error)}"
            ) from None
        self._failing = None
        if found is None:
            return None
        self._pending = found
        for place, wrong, row in found.rejected:
            if not rejections.tolerant:
                raise wrong
            reject_row(rejections, self.table, place, wrong, row)
        items = found.items
        return self.reader.read([item for _, item in items], rejections, lambda index: items[index][0])

    def _next(self, rows: int) -> _Read | None:
        connection = self._connected()
        if self.position is None:
            self._snapshot = self._snapshot or self._whole(connection)
            return self._snapshot
        return self._changes(connection, self.position, rows)

    def _connected(self) -> Any:
        """The connection; a new one finds the slot at the position."""
        if self._connection is None:
            connection = self.database.connect(autocommit=True)
            try:
                self.oid = self.slot.check(connection)
                if self.position is not None:
                    self.slot.find(connection, self.position)
            except BaseException:
                connection.close()
                raise
            self._connection = connection
        return self._connection

    def _failed(self, error: Exception) -> None:
        """The connection is lost; DataError once it has been for too long, or was never there."""
        first = self._connection is None and self._failing is None and self.position is None
        self._drop()
        self._failing = self._failing if self._failing is not None else self.now()
        self._said = self.database.said(error)
        if first or self.now() - self._failing >= duration(TIMEOUT.value(self.table)).total_seconds():
            self._failing = None
            message = f"{self.database.where} does not answer: {self.database.said(error)}"
            hint = "the run goes on where it was once it is started again"
            raise self.slot.error(code="SOURCE_UNREACHABLE", message=message, hint=hint) from None
        self._again = self.now() + _PAUSE

    def _drop(self) -> None:
        connection, self._connection, self._pending = self._connection, None, None
        if connection is not None:
            connection.close()

    # The table as it was

    def _whole(self, connection: Any) -> _Read:
        """All rows as they were where a new slot begins."""
        with self.slot.created(connection, ours=self._made or self._is_noted(), begin=self._noted) as found:
            position, snapshot = found
            self._made = True
            reach("source.slot")
            with connection.transaction():
                connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
                connection.execute(f"SET TRANSACTION SNAPSHOT '{snapshot}'")
                columns = dict(connection.execute(_COLUMNS, (self.oid,)).fetchall())
                names = [name for name in columns if self.table.column(name) is not None]
                listed = ", ".join(map(quoted, names))
                rows = connection.execute(f"SELECT {listed} FROM {self.source.quoted()}").fetchall()
        place = f"{self.source} at {lsn_text(position)}"
        items = [(place, Operated(INSERT, self.named(zip(names, row, strict=True)))) for row in rows]
        return _Read(items, None, position, self.used(columns))

    def note_in(self, folder: Path) -> None:
        """Know a slot that was made by a process which was killed before it had made a step."""
        self._note = folder / "slot.json"

    def _noted(self) -> None:
        """Take note of the slot that is about to be made, so that it is known whatever happens next."""
        if self._note is not None:
            write_atomically(self._note, json.dumps(self._ours()))

    def _is_noted(self) -> bool:
        if self._note is None or not self._note.exists():
            return False
        try:
            return bool(json.loads(self._note.read_text(encoding="utf-8")) == self._ours())
        except ValueError:
            return False

    def _ours(self) -> dict[str, str]:
        return {"slot": self.slot.name, "at": self.database.where}

    def _forget_note(self) -> None:
        """A step has what the slot begins with: from now on its position is what is known of it."""
        if self._note is not None:
            self._note.unlink(missing_ok=True)

    def named(self, values: Iterable[tuple[str, Any]]) -> dict[str, Any]:
        """A row by the names of the table's columns, from values by those of the database's."""
        found: dict[str, Any] = {}
        for name, value in values:
            column = self.table.column(name)
            if column is not None:
                found[column.label] = given(value, column.type)
        return found

    def used(self, columns: Mapping[str, int]) -> dict[str, int]:
        """The columns that the table has, with their types."""
        return {name: kind for name, kind in columns.items() if self.table.column(name) is not None}

    # Its changes

    def _changes(self, connection: Any, position: int, rows: int) -> _Read | None:
        """Whole transactions behind a position; None if there are none."""
        (text,) = connection.execute("SELECT pg_current_wal_lsn()::text").fetchone()
        self._behind = max(0, lsn_number(text) - position)
        if not self._behind:
            return None
        arguments = (self.slot.name, rows, "publication_names", quoted(publication_of(self.table)))
        found = connection.execute(_PEEK, arguments).fetchall()
        read = _Read([], position, position, self.columns)
        Decoding(self, read, loading(connection)).read((place, bytes(data)) for place, data in found)
        self._newest = read.at or self._newest
        if read.end > position and (read.items or read.rejected):
            return read
        if not found and self._behind > _IDLE:  # others write; a step of no rows lets the database forget that
            read.end = lsn_number(text)
            return read
        return None

    # What the run loop asks

    def taken(self) -> dict[str, Any]:
        """The positions read from and to."""
        read = self._pending
        if read is None:
            return {}
        start = None if read.start is None else lsn_text(read.start)
        end = {"lsn": lsn_text(read.end), "columns": dict(read.columns)}
        return {"connector": "postgres", "read": [{"slot": self.slot.name, "from": start, "to": end}]}

    def seek(self, taken: Mapping[str, Any]) -> None:
        """Stand before a range; DataError for the snapshot, whose rows are in the step alone."""
        item = taken["read"][0]
        if item["from"] is None:
            message = f"table {self.table.name}: the rows of {self.source} as they were cannot be read again"
            raise DataError(Diagnostic("CANNOT_READ_AGAIN", message))
        self._stand(item["from"], item["to"]["columns"])

    def skip(self, taken: Mapping[str, Any]) -> None:
        """Stand behind a range."""
        end = taken["read"][-1]["to"]
        self._stand(end["lsn"], end["columns"])

    def _stand(self, position: str, columns: Mapping[str, int]) -> None:
        self._drop()
        self._forget_note()
        self.position, self.columns, self._snapshot = lsn_number(position), dict(columns), None

    def commit(self) -> None:
        """Have the database forget what a step has; one that does not answer is told when it does again."""
        read, self._pending = self._pending, None
        if read is None:
            return
        if self.position is None:
            self._forget_note()
        self._snapshot, self.position, self.columns = None, read.end, read.columns
        if self._connection is not None:
            psycopg = driver()
            try:
                self.slot.advance(self._connection, read.end)
            except psycopg.Error:
                self._drop()

    def rewind(self) -> None:
        """Read the same again."""
        self._pending = None

    def waiting(self) -> tuple[int, int]:
        """Bytes of the database's log, of all its tables, behind the position."""
        return self._behind, 0

    def behind(self) -> Lag:
        """The bytes of the log, and the age of the last transaction that was read while there are more."""
        age = None if self._newest is None else max(0.0, time.time() - self._newest)
        return Lag(bytes=self._behind, seconds=age if self._behind or age is None else 0.0)

    def trouble(self) -> str:
        """The words of the database, or of the way to it; empty while it answers."""
        return self._said if self._failing is not None else ""

    def close(self) -> None:
        """Let go of the slot, which stays where it is."""
        self._drop()

    def describe(self) -> str:
        """The table and its database."""
        return f"{self.table.name} from table {self.source} at {self.database.where}"


class Decoding:
    """Messages of a slot as rows of a source's table."""

    def __init__(self, source: PostgresSource, read: _Read, load: Callable[[bytes, int], Any]) -> None:
        self._source = source
        self._read = read
        self._load = load
        self._relations: dict[int, Relation] = {}

    def read(self, messages: Iterable[tuple[str, bytes]]) -> None:
        """Add what the messages say to the reading."""
        for place, data in messages:
            match message_of(data):
                case Relation() as relation:
                    self._relations[relation.number] = relation
                    if relation.number == self._source.oid:
                        self._check_columns(relation)
                case RowChange() as change if change.relation == self._source.oid:
                    self._add(change, f"{self._source.source} at {place}")
                case Truncated(relations) if self._source.oid in relations:
                    self._truncated(place)
                case Committed(end, at):
                    self._read.end, self._read.at = end, at
                case _:
                    pass

    def _check_columns(self, relation: Relation) -> None:
        """Refuse to go on where a column that is read has gone, or has another type."""
        now = {name: kind for name, kind, _ in relation.columns}
        for name, kind in self._read.columns.items():
            if now.get(name) != kind:
                what = "is not there any more" if name not in now else "has another type"
                message = f"column {name} of {self._source.source} {what}: the schema has changed"
                hint = "change the table in the program as well, and begin with an empty directory and a new snapshot"
                raise self._source.slot.error(code="SOURCE_CHANGED", message=message, hint=hint)
        self._read.columns = self._source.used(now)

    def _truncated(self, place: str) -> None:
        if TRUNCATE.value(self._source.table) == "ignore":
            return
        message = f"{self._source.source} was truncated at {place}, which does not say which rows have gone"
        hint = "'on_truncate' = 'ignore' keeps them here; or begin with an empty directory and a new snapshot"
        raise self._source.slot.error(code="SOURCE_TRUNCATED", message=message, hint=hint)

    def _add(self, change: RowChange, place: str) -> None:
        """The operations of a change; a row that cannot be held is rejected alone."""
        relation = self._relations[change.relation]
        try:
            for operation, values in _operations(change, keyed=bool(self._source.table.key)):
                row = self._row(relation, values, key_only=operation == DELETE and not change.whole)
                self._read.items.append((place, Operated(operation, row)))
        except ValueError as error:
            message = f"table {self._source.table.name}, {place}: {error}"
            found = DataError(Diagnostic("BROKEN_ROW", message))
            shown = [None if value is None else str(value) for value in change.new or change.old or ()]
            self._read.rejected.append((place, found, shown))

    def _row(self, relation: Relation, values: Values, *, key_only: bool) -> dict[str, Any]:
        pairs = []
        for (name, kind, in_key), value in zip(relation.columns, values, strict=True):
            if self._source.table.column(name) is None or (key_only and not in_key):
                continue
            if isinstance(value, Unchanged):
                message = f"{name} is not sent: it is large, and has not changed (REPLICA IDENTITY FULL sends it)"
                raise ValueError(message)  # noqa: TRY004 - a value of a row
            pairs.append((name, None if value is None else self._load(value, kind)))
        return self._source.named(pairs)


def _operations(change: RowChange, *, keyed: bool) -> Iterator[tuple[str, Values]]:
    """A change as deletions and insertions; with a key a row is replaced by one that has it."""
    old, new = change.old, change.new
    if new is not None and old is not None and change.whole:
        new = tuple(before if isinstance(now, Unchanged) else now for before, now in zip(old, new, strict=True))
    if old is not None and (not keyed or new is None or not change.whole or old != new):
        yield DELETE, old
    if new is not None:
        yield INSERT, new


def opened(table: Table, readers: MakeReader) -> PostgresSource:
    """The source of a table; it reaches the database when it is first read."""
    database = database_of(table.properties, f"table {table.name}")
    source = table_named(TABLE.value(table) or table.name) or TableName(table.name)
    return PostgresSource(table, readers(table, STRICT), database, Slot(table, database, source), source)
