"""The rows of a table of PostgreSQL: those of a copy, step by step, then whole transactions, each once.

    {"connector": "postgres", "read": [{"slot": "penstock_t", "from": "0/1A2B", "to": {"lsn": "0/1F00", "columns": …}}]}

A manifest has the position behind the last transaction, and the columns with their types as they were; while the copy
is read, how far it has been (`position`). What a step has not been made of is read again, since the slot is advanced,
and the copy removed, only behind it.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa

from penstock.catalog.model import Table
from penstock.errors import DataError, Diagnostic
from penstock.sources.lag import Lag
from penstock.sources.position import IDENTITY
from penstock.sources.postgres.columns import TableColumns
from penstock.sources.postgres.connection import Database, TableName, database_of, driver, quoted, table_named
from penstock.sources.postgres.copied import Copy, copy_in, remove_copy
from penstock.sources.postgres.copying import Copying, columns_of
from penstock.sources.postgres.declared import TABLE, TIMEOUT, UNKNOWN_COLUMNS, publication_of
from penstock.sources.postgres.decoding import Decoding, Read
from penstock.sources.postgres.messages import lsn_number, lsn_text
from penstock.sources.postgres.origin import Origin, difference, origin_from, origin_of
from penstock.sources.postgres.position import SlotPosition, position_of
from penstock.sources.postgres.slot import Slot
from penstock.sources.postgres.values import loading
from penstock.sources.properties import check_replaced, duration
from penstock.steps.durable import write_atomically
from penstock.steps.intake.inputs import MakeReader
from penstock.steps.rows.batch import INSERT, Batch, Operated, RowReader, reject_row
from penstock.steps.rows.partitioned import Partitioned
from penstock.steps.rows.rejected import Rejections
from penstock.steps.rows.values import STRICT, Leniency

_IDLE = 16 << 20
_PAUSE = 1.0
_WAIT = 0.2  # seconds that a step waits for a copy, which is there by then if the table is small
_LEAVE = 10.0  # that it is waited for once it has been given up
_EVER = timedelta(days=3650)  # for which what follows a copy may be silent
_PEEK = "SELECT lsn::text, data FROM pg_logical_slot_peek_binary_changes(%s, NULL, %s, 'proto_version', '1', %s, %s)"


@dataclass
class PostgresSource:
    """The source of one table; `at` is the position behind the last step, None before the first."""

    table: Table
    reader: RowReader
    database: Database
    slot: Slot
    source: TableName
    now: Callable[[], float] = time.monotonic
    at: SlotPosition | None = None
    oid: int = 0
    origin: Origin | None = None
    _connection: Any = None
    _pending: Read | None = None
    _copying: Copying | None = None
    _copy: Copy | None = None
    _folder: Path | None = None
    _aside: TemporaryDirectory[str] | None = None  # in the place of the folder where there is none
    _settled: bool = False  # the copy holds back no waterline any more
    _failing: float | None = None
    _again: float = 0.0
    _behind: int = 0
    _more: bool = False  # of what is behind some is of this table, so far as the last look has found
    _newest: float | None = None
    _said: str = ""

    @cached_property
    def columns(self) -> TableColumns:
        """The columns that rows are read by."""
        return TableColumns(self.table, self.source, self.reader)

    @cached_property
    def _is_judged(self) -> bool:
        """True if rows move a waterline."""
        return any(column.lateness is not None for column in self.table.columns)

    def read(self, rows: int, rejections: Rejections, *, ended: bool = False) -> Batch | None:
        """Rows of the copy, then those of transactions, about `rows`; None while there are none, or it is away."""
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
        batch = self.reader.read([item for _, item in items], rejections, lambda index: items[index][0])
        return self._judged(batch, found)

    def _next(self, rows: int) -> Read | None:
        connection = self._connected()
        at = self.at or self._begun(connection)
        if at is None:
            return None
        return self._changes(connection, at, rows) if at.row is None else self._copied(connection, at, at.row, rows)

    def _connected(self) -> Any:
        """The connection; a new one finds the slot at the position."""
        if self._connection is None:
            connection = self.database.connect(autocommit=True)
            try:
                self._check_origin(connection)
                self.oid = self.slot.check(connection)
                if self.at is not None:
                    self.slot.find(connection, self.at.lsn)
            except BaseException:
                connection.close()
                raise
            self._connection = connection
        return self._connection

    def _check_origin(self, connection: Any) -> None:
        """See that the database is the one in which the position is, or begin anew with another one."""
        now, known = origin_of(connection), self.origin
        if self.at is not None and known is not None:
            other = difference(known, self.at.lsn, now, self.database)
            if other is not None:
                read = f"{known}, read up to {lsn_text(self.at.lsn)}"
                check_replaced(self.table, f"the database {self.database.where}", read, other)
                remove_copy(self.notes)
                self.at = self._copy = None
        self.origin = now

    def _failed(self, error: Exception) -> None:
        """The connection is lost; DataError once it has been for too long, or was never there."""
        first = self._connection is None and self._failing is None and self.at is None
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

    def _begun(self, connection: Any) -> SlotPosition | None:
        """The position before the first row of the copy; None while it is being made."""
        if self._copy is None and self._copying is None:
            self._copy = self._made_before(connection)
        if self._copy is None:
            self._copying = self._copying or self._begin_copy(connection)
            if not self._copying.is_done(_WAIT):
                return None
            copying, self._copying = self._copying, None
            self._copy = copying.copy()
        return SlotPosition(self._copy.lsn, self.columns.used(self._copy.columns), 0, 0, self._copy.rows)

    def _made_before(self, connection: Any) -> Copy | None:
        """A copy that is there although no step has any of it, if it is what would be made now."""
        found = copy_in(self.notes, self._ours())
        if found is None or not self.slot.stands_at(connection, found.lsn):
            return None
        return found if found.columns == self.columns.wanted(columns_of(connection, self.oid)) else None

    def _begin_copy(self, connection: Any) -> Copying:
        self.columns.wanted(columns_of(connection, self.oid))  # what it refuses is refused before there is a slot
        noted, wanted = self._is_noted(), self.columns.wanted
        return Copying(self.slot, self.oid, self.notes, self._ours(), wanted, self._noted, ours=noted)

    def _copied(self, connection: Any, at: SlotPosition, row: int, rows: int) -> Read:
        """The rows of the copy behind a position."""
        copy = self._copy = self._copy or self._kept(at)
        self.columns.wanted(copy.columns)
        lines, byte = self._lines(copy, at.byte, min(rows, copy.rows - row))
        last, used = row + len(lines), self.columns.used(copy.columns)
        whole = SlotPosition(copy.lsn, used)
        read = Read(self.at, whole if last == copy.rows else replace(whole, row=last, byte=byte, of=copy.rows))
        load = loading(connection)
        for number, line in enumerate(lines, row + 1):
            values, place = copy.values(line), f"{self.source} at {lsn_text(copy.lsn)} row {number}"
            named = ((name, kind, value) for (name, kind), value in zip(copy.columns.items(), values, strict=True))
            try:
                read.items.append((place, Operated(INSERT, self.columns.row(named, load))))
            except ValueError as error:
                read.reject(self.slot, place, error, values)
        return read

    def _lines(self, copy: Copy, byte: int, rows: int) -> tuple[list[bytes], int]:
        try:
            lines, behind = copy.lines(byte, rows)
        except OSError as error:
            raise self._copy_gone(why=str(error)) from error
        if len(lines) < rows or behind > copy.size:
            raise self._copy_gone(why="it is not what was written")
        return lines, behind

    def _kept(self, at: SlotPosition) -> Copy:
        """The copy of which steps have rows; DataError if it is gone."""
        found = copy_in(self.notes, {"slot": self.slot.name})
        if found is None or found.lsn != at.lsn:
            raise self._copy_gone(why="it is not there")
        return found

    def _copy_gone(self, why: str) -> DataError:
        message = f"the copy of {self.source} in {self.notes} has not been read to its end: {why}"
        return self.slot.error(
            code="CANNOT_READ_AGAIN", message=message, hint="begin with an empty directory, and a new snapshot"
        )

    def _judged(self, batch: Batch, read: Read) -> Batch:
        """The rows of a copy as those of one step: none makes another late, and the last moves the waterlines."""
        if not self._is_judged:
            return batch
        copied, since = f"the copy of {self.source}", f"what follows the copy of {self.source}"
        places = pa.repeat(pa.scalar(0, pa.int32()), len(batch))
        if read.end.row is not None:
            return replace(batch, partitions=Partitioned((copied, since), places, frozenset({since}), _EVER))
        if read.start is None or self._settled:
            return batch
        if read.start.row is not None:
            return replace(batch, partitions=Partitioned((copied,), places, frozenset(), _EVER))
        return replace(batch, partitions=Partitioned((), pa.nulls(len(batch), pa.int32()), frozenset(), _EVER))

    # Notes, and the copy

    def note_in(self, folder: Path) -> None:
        """Keep the copy there, and know a slot that a process has made which was killed before it had made a step."""
        self._folder = folder

    @property
    def notes(self) -> Path:
        """The folder of what has to be known again."""
        if self._folder is None:
            self._aside = self._aside or TemporaryDirectory(prefix="penstock-postgres-")
            return Path(self._aside.name)
        return self._folder

    @property
    def _note(self) -> Path:
        """The file that says which slot is ours, until a step has what it begins with."""
        return self.notes / "slot.json"

    def _noted(self) -> None:
        """Take note of the slot that is about to be made, so that it is known whatever happens next."""
        write_atomically(self._note, json.dumps(self._ours()))

    def _is_noted(self) -> bool:
        try:
            return bool(json.loads(self._note.read_text(encoding="utf-8")) == self._ours())
        except (FileNotFoundError, ValueError):
            return False

    def _ours(self) -> dict[str, str]:
        return {"slot": self.slot.name, "at": self.database.where}

    def _step_has(self, position: SlotPosition) -> None:
        """Stand behind a position that a step has, which tells whose the slot is; a copy that is behind goes."""
        self._note.unlink(missing_ok=True)
        if position.row is None and (self.at is None or self.at.row is not None):
            remove_copy(self.notes)
            self._copy = None
        self.at = position

    # Its changes

    def _changes(self, connection: Any, at: SlotPosition, rows: int) -> Read | None:
        """Whole transactions behind a position; None if there are none.

        Those of other tables come without rows, before PostgreSQL 15 all of them. What has nothing else is gone past by
        a step of no rows: at once where the look has ended before all that there is, and else every so many bytes.
        """
        (text,) = connection.execute("SELECT pg_current_wal_lsn()::text").fetchone()
        self._behind = max(0, lsn_number(text) - at.lsn)
        if not self._behind:
            self._more = False
            return None
        arguments = (self.slot.name, rows, "publication_names", quoted(publication_of(self.table)))
        found = connection.execute(_PEEK, arguments).fetchall()
        read = Read(at, at)
        decoding = Decoding(self.slot, self.oid, self.columns, read, loading(connection))
        decoding.read((place, bytes(data)) for place, data in found)
        self._more = bool(read.items or read.rejected)
        self._newest = read.at or self._newest
        if read.end.lsn > at.lsn and (read.items or read.rejected):
            return read
        if len(found) >= rows:  # what follows is seen only from behind these
            return read if read.end.lsn > at.lsn else None
        if self._behind > _IDLE:  # others write; a step of no rows lets the database forget that
            read.end = replace(read.end, lsn=max(read.end.lsn, lsn_number(text)))
            return read
        return None

    # What the run loop asks

    def taken(self) -> dict[str, Any]:
        """The positions read from and to."""
        read = self._pending
        if read is None:
            return {}
        start = None if read.start is None or read.start.row is not None else lsn_text(read.start.lsn)
        known = {} if self.origin is None else {IDENTITY: self.origin.to_json()}
        item = {"slot": self.slot.name, **known, "from": start, "to": read.end.to_json()}
        return {"connector": "postgres", "read": [item]}

    def seek(self, taken: Mapping[str, Any]) -> None:
        """Stand before a range; DataError for one of the copy, whose rows are in the step alone."""
        item = taken["read"][0]
        if item["from"] is None:
            message = f"table {self.table.name}: the rows of {self.source} as they were cannot be read again"
            raise DataError(Diagnostic("CANNOT_READ_AGAIN", message))
        self._stand(SlotPosition(lsn_number(item["from"]), item["to"]["columns"]))

    def skip(self, taken: Mapping[str, Any]) -> None:
        """Stand behind a range."""
        item = taken["read"][-1]
        self._stand(position_of(item["to"]))
        self.origin = origin_from(item.get(IDENTITY, {}))

    def _stand(self, position: SlotPosition) -> None:
        self._drop()
        self._copy = None
        self._step_has(position)

    def commit(self) -> None:
        """Have the database forget what a step has; one that does not answer is told when it does again."""
        read, self._pending = self._pending, None
        if read is None:
            return
        self._settled = read.end.row is None and read.start is not None and read.start.row is None
        self._step_has(read.end)
        if self._connection is not None and read.end.row is None:
            psycopg = driver()
            try:
                self.slot.advance(self._connection, read.end.lsn)
            except psycopg.Error:
                self._drop()

    def rewind(self) -> None:
        """Read the same again."""
        self._pending = None

    @property
    def is_awaited(self) -> bool:
        """True while a copy is made, or the database does not answer: there may be more."""
        return self._copying is not None or self._failing is not None

    def waiting(self) -> tuple[int, int]:
        """Bytes of the copy that have not been read; behind it those of the database's log, of all its tables."""
        return self.behind().bytes or 0, 0

    def behind(self) -> Lag:
        """Rows and bytes of the copy; then bytes of the log, of all tables, and the age of this one's last change."""
        if self._copying is not None:
            return Lag(rows=self._copying.rows, bytes=self._copying.size)
        at, copy = self.at, self._copy
        if at is not None and at.row is not None:
            return Lag(rows=at.of - at.row, bytes=None if copy is None else copy.size - at.byte)
        if copy is not None:
            return Lag(rows=copy.rows, bytes=copy.size)
        age = None if self._newest is None else max(0.0, time.time() - self._newest)
        return Lag(bytes=self._behind, seconds=age if self._more or age is None else 0.0)

    def trouble(self) -> str:
        """The words of the database, or of the way to it; empty while it answers."""
        return self._said if self._failing is not None else ""

    def close(self) -> None:
        """Let go of the slot, which stays where it is; a copy that is not whole is given up."""
        copying, self._copying = self._copying, None
        if copying is not None:
            copying.end(_LEAVE)
        if self._connection is not None:
            # That a connection is closed the database sees later, and who opens the table next wants the slot now.
            with suppress(driver().Error):
                self._connection.execute("SELECT pg_advisory_unlock_all()")
        self._drop()

    def describe(self) -> str:
        """The table and its database."""
        return f"{self.table.name} from table {self.source} at {self.database.where}"


def opened(table: Table, readers: MakeReader) -> PostgresSource:
    """The source of a table; it reaches the database when it is first read."""
    database = database_of(table.properties, f"table {table.name}")
    source = table_named(TABLE.value(table) or table.name) or TableName(table.name)
    adds = UNKNOWN_COLUMNS.value(table) == "add"
    reader = readers(table, Leniency(ignore_unknown=True, new="values") if adds else STRICT)
    return PostgresSource(table, reader, database, Slot(table, database, source), source)
