"""A step as one transaction of the database: its rows and its number.

append    COPY into the table
upsert    COPY into a temporary table; DELETE of the keys that go, INSERT … ON CONFLICT … DO UPDATE of the others
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from penstock.failpoints import reach
from penstock.outputs.accepting import key_of, places_of
from penstock.outputs.declared import replaces_others, timeout_of
from penstock.outputs.forms import Form, Row, formed
from penstock.outputs.postgres.declared import CREATE, TABLE
from penstock.outputs.postgres.steps import claim, lock, note
from penstock.outputs.postgres.target import Target, found_target
from penstock.outputs.receiver import Owner, refused, unreachable
from penstock.outputs.sink import Sink
from penstock.sources.postgres.connection import Database, TableName, database_of, driver, quoted, table_named
from penstock.steps.change import Change

_GOES = "__goes"
_LOCKED = 10.0  # seconds for which one try waits for who holds a lock
_STAGE = "pg_temp.penstock_step"


@dataclass
class TableReceiver:
    """One output's table and the connection that writes it."""

    sink: Sink
    form: Form
    owner: Owner
    database: Database
    connection: Any
    target: Target
    last: int
    where: str
    _key: tuple[int, ...] = field(init=False)

    def __post_init__(self) -> None:
        """The places of the key, and the temporary table."""
        self._key = places_of(self.sink, key_of(self.sink)) if self.form is Form.UPSERT else ()
        if self.form is Form.UPSERT:
            columns = ", ".join(quoted(item.name) for item in self.target.columns)
            self.connection.execute(
                f"CREATE TEMPORARY TABLE penstock_step ON COMMIT DELETE ROWS AS "
                f"SELECT false AS {quoted(_GOES)}, {columns} FROM {self.target.table.quoted()} WITH NO DATA"
            )

    def taken(self) -> int | None:
        """The step that the book has."""
        return self.last

    def take(self, change: Change) -> None:
        """Write a step and its number."""
        with told(self.database, self.where), self.connection.transaction():
            if self.form is Form.APPEND:
                rows = (row for weight, row in change.rows for _ in range(weight))
                self._copy(self.target.table.quoted(), [], rows)
            else:
                self._upsert(change)
            reach("receiver.within")
            note(self.connection, self.target.table, self.owner, self.sink.name, change.step, self.where)
        self.last = change.step

    def _upsert(self, change: Change) -> None:
        done = formed(change.rows, Form.UPSERT, self._key)
        self._copy(_STAGE, [_GOES], ((what == "delete", *row) for what, row in done))
        table, key = self.target.table.quoted(), self.target.key
        columns = [item.name for item in self.target.columns]
        if not key:  # one row at most
            self.connection.execute(f"DELETE FROM {table}")
        else:
            same = " AND ".join(_same(name) for name in key)
            self.connection.execute(f"DELETE FROM {table} AS t USING {_STAGE} AS s WHERE s.{quoted(_GOES)} AND {same}")
        listed = ", ".join(map(quoted, columns))
        insert = f"INSERT INTO {table} ({listed}) SELECT {listed} FROM {_STAGE} WHERE NOT {quoted(_GOES)}"
        self.connection.execute(f"{insert}{_on_conflict(columns, key)}")

    def _copy(self, table: str, before: Sequence[str], rows: Iterable[Row]) -> None:
        """Copy rows into a table; `before` are columns before those of the target."""
        listed = ", ".join(map(quoted, [*before, *(item.name for item in self.target.columns)]))
        convert = [None] * len(before) + self.target.converters()
        with self.connection.cursor().copy(f"COPY {table} ({listed}) FROM STDIN") as copy:
            if any(convert):
                rows = (_converted(row, convert) for row in rows)
            for row in rows:
                copy.write_row(row)

    def close(self) -> None:
        """End the session, and its lock."""
        with suppress(driver().Error):
            self.connection.close()


def _converted(row: Row, convert: Sequence[Any]) -> Row:
    return tuple(value if change is None else change(value) for value, change in zip(row, convert, strict=True))


def _same(name: str) -> str:
    column = quoted(name)
    return f"(t.{column} = s.{column} OR (t.{column} IS NULL AND s.{column} IS NULL))"


def _on_conflict(columns: Sequence[str], key: Sequence[str]) -> str:
    """The clause by which a row takes the place of the one with its key."""
    if not key:
        return ""
    others = [quoted(name) for name in columns if name not in key]
    action = f"UPDATE SET {', '.join(f'{name} = EXCLUDED.{name}' for name in others)}" if others else "NOTHING"
    return f" ON CONFLICT ({', '.join(map(quoted, key))}) DO {action}"


def opened(sink: Sink, form: Form, owner: Owner) -> TableReceiver:
    """The table at work: found, compared, locked and this pipeline's own; DataError for each of it that fails."""
    database = database_of(sink.properties, sink.what)
    table = table_named(TABLE.value(sink) or sink.name) or TableName(sink.name)
    where = f"table {table} at {database.where}"
    connection: Any = None
    try:
        with told(database, where):
            connection = database.connect(autocommit=True)
            connection.execute(f"SET lock_timeout = {round(1000 * min(_LOCKED, timeout_of(sink)))}")
            key = key_of(sink) if form is Form.UPSERT else None
            with connection.transaction():
                target = found_target(connection, table, sink, key, creates=CREATE.value(sink) == "true")
            lock(connection, target, where)
            with connection.transaction():
                last = claim(connection, target, owner, sink.name, where, empties=replaces_others(sink))
            return TableReceiver(sink, form, owner, database, connection, target, last, where)
    except BaseException:
        if connection is not None:
            connection.close()
        raise


@contextmanager
def told(database: Database, where: str) -> Iterator[None]:
    """Errors of the database as ours: those of the connection are tried again, those of what it was given are not."""
    psycopg = driver()
    try:
        yield
    except (psycopg.OperationalError, psycopg.InterfaceError, psycopg.errors.TransactionRollback) as error:
        raise unreachable(where, database.said(error)) from None
    except psycopg.Error as error:
        raise refused(where, database.said(error)) from None
