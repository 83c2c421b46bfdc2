"""DuckDB in the process: one connection for an engine, whose step is one transaction.

Whatever a step makes, tables of changes and new state alike, is made within the transaction: it is there for the
step's own statements, and gone with a step that is discarded. Tables of changes keep their names from step to step, so
that nothing has to be dropped; only large ones are emptied when the step ends.

The tables lie in memory, up to a limit; what is larger DuckDB puts into files of its own, and reads it from there.
"""

from __future__ import annotations

import itertools
import os
import shutil
import threading
import weakref
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock.backends.native.asked import Ask, nobody
from penstock.backends.native.functions import know_functions
from penstock.backends.native.interrupts import INTERRUPTS, undivided
from penstock.backends.native.kinds import from_arrow
from penstock.backends.native.memory import memory_allowed, no_room
from penstock.backends.native.proof import quoted
from penstock.backends.native.raised import text_literal
from penstock.backends.native.room import MEMORY, NO_ROOM, resident_bytes
from penstock.backends.temporary import TemporaryFolder
from penstock.backends.thresholds import LYING_ROWS
from penstock.catalog.settings import DEFAULT_MEMORY_LIMIT
from penstock.errors import DataError, Diagnostic, message_of

if TYPE_CHECKING:
    import pyarrow as pa
    from duckdb import DuckDBPyConnection

_HANDLER_RAISED = "Query interrupted"  # all that DuckDB says when a signal's handler raises during a statement
_BAD_MAP = "Arrow map contains"  # all other rows have been looked at (sound.py)
CLOCK, CLOCK_BEFORE = "penstock_clock", "penstock_clock_before"
_SETTINGS = (
    "SET disabled_optimizers = 'common_subplan'",  # 2.0.0 mixes up columns of equal subqueries
    "SET autoinstall_known_extensions = false",
    "SET autoload_known_extensions = false",
    "SET python_enable_replacements = false",  # no variable of Python is a table
    "SET python_scan_all_frames = false",
    "SET preserve_insertion_order = false",
    "SET checkpoint_threshold = '1TB'",  # which a COMMIT would wait for; nothing lies in a file
    "SET enable_progress_bar = false",
    "SET enable_external_access = false",  # but the folder for what does not fit into memory
)
_MOST_PREPARED = 100


class Store:
    """The tables of one engine: `d1`, … for changes, `t1`, … for state, `a1` and `g1`, … for rows from Arrow."""

    def __init__(self, folder: Path | None = None, memory_limit: str = DEFAULT_MEMORY_LIMIT, ask: Ask = nobody) -> None:
        """Rows that do not fit lie in `folder`, which nobody else uses, or in a temporary one.

        Spark is asked by `ask` for what the process cannot tell.
        """
        with undivided():  # Ctrl-C in the middle of loading DuckDB ends the process by SIGABRT
            import duckdb  # noqa: PLC0415 - 100 ms that `check` need not wait

        self._temporary = None
        if folder is None:
            self._temporary = TemporaryFolder("state")
            folder = self._temporary.path / "rows"
        self.folder = folder
        shutil.rmtree(self.folder, ignore_errors=True)  # what a process that was killed has left
        self._keeps_order = False
        self._connection = duckdb.connect(":memory:")
        limited = weakref.ref(self)
        know_functions(self._connection, ask, lambda: 0 if (one := limited()) is None else one.memory_limit)
        self._interrupted, self._without_transaction = duckdb.InterruptException, duckdb.TransactionException
        self._not_taken = duckdb.InvalidInputException
        self._no_room, self._failed = (duckdb.OutOfMemoryException, duckdb.IOException), duckdb.Error
        self.limit_memory(memory_limit)
        beside = [] if self._temporary is not None else [text_literal(f"{self.folder.parent.absolute()}/")]
        self._connection.execute(f"SET allowed_directories = [{', '.join(beside)}]")  # for snapshots
        for setting in (f"SET temp_directory = {text_literal(str(self.folder))}", *_SETTINGS):
            self._connection.execute(setting)
        self.works_for: int | None = None  # the thread whose statement is under way
        self.works = 0
        self.resident_before, self.exceeds = 0, False
        MEMORY.watch(self)
        self._lock = threading.RLock()
        self._names = itertools.count(1)
        self._large: list[str] = []
        self._prepared: dict[str, str] = {}  # the names of statements by their queries
        self._given = 0
        self._variables: tuple[datetime | None, datetime | None] | None = None
        self._clocks: tuple[datetime | None, datetime | None] = (None, None)
        self._began = False
        self.clock_has_moved = False

    @contextmanager
    def _working(self, *, stoppable: bool = True) -> Iterator[DuckDBPyConnection]:
        """The connection; a statement of it that was interrupted is a KeyboardInterrupt."""
        with self._lock:
            self.works += 1
            if self.works_for is None:
                self.resident_before, self.exceeds = resident_bytes(), False
            before, self.works_for = self.works_for, threading.get_ident() if stoppable else None
            try:
                yield self._connection
            except self._interrupted as error:
                if self.exceeds:
                    raise no_room(str(error), self.memory_limit, self.folder) from error
                raise KeyboardInterrupt from error
            except self._no_room as error:
                raise no_room(str(error), self.memory_limit, self.folder) from error
            except self._not_taken as error:
                if NO_ROOM in str(error):
                    raise no_room(str(error), self.memory_limit, self.folder) from error
                if _BAD_MAP not in str(error):
                    raise
                message = "found a MAP in which a key stands twice, or is NULL, among rows that Spark has made"
                raise DataError(Diagnostic("BAD_VALUE", message)) from error
            except RuntimeError as error:
                if str(error) != _HANDLER_RAISED:
                    raise
                raise KeyboardInterrupt from error
            finally:
                self.works_for = before

    def limit_memory(self, setting: str) -> None:
        """Keep at most so much in memory from now on."""
        self.memory_limit = memory_allowed(setting)
        self._connection.execute(f"SET memory_limit = '{self.memory_limit}B'")

    @property
    def spilled_bytes(self) -> int:
        """The bytes in files, for want of memory."""
        try:
            return sum(entry.stat().st_size for entry in os.scandir(self.folder))
        except FileNotFoundError:  # DuckDB makes the folder when it needs it
            return 0

    @property
    def in_step(self) -> bool:
        """True while a step is under way: what is moved then would be a part of it, and gone with it."""
        return self._began

    def has_ended_by(self, error: BaseException) -> bool:
        """True for what a statement raises behind another one that has failed in the same transaction."""
        return isinstance(error, self._without_transaction)

    def interrupt(self) -> None:
        """Have the statement under way fail with KeyboardInterrupt, in whatever thread it is."""
        self._connection.interrupt()

    def begin(self, clock: datetime | None, before: datetime | None) -> None:
        """Begin the transaction of a step, at its clock and that of the step before."""
        self.discard()
        INTERRUPTS.watch(self)
        with self._working() as connection:
            self.clock_has_moved = clock != before
            self._clocks = (clock, before)
            self._began = True  # before it is so: Ctrl-C may come between
            connection.execute("BEGIN")

    def see_clock(self) -> None:
        """Let queries read the clock of the step and that of the step before."""
        with self._working() as connection:
            if self._variables == self._clocks:
                return
            for name, at in zip((CLOCK, CLOCK_BEFORE), self._clocks, strict=True):
                value = "NULL" if at is None else f"'{at:%Y-%m-%d %H:%M:%S.%f}'"
                connection.execute(f"SET VARIABLE {name} = {value}::TIMESTAMP")
            self._variables = self._clocks

    def keep_order(self) -> None:
        """Have rows stay in the order in which they come until the step or the answer is made; it may be slower."""
        with self._working() as connection:
            self._keeps_order = True
            connection.execute("SET preserve_insertion_order = true")

    def commit(self) -> None:
        """Let what the step has made count, and forget its changes."""
        with self._working(stoppable=False) as connection:
            if self._began:
                for name in self._large:
                    connection.execute(f"DROP TABLE IF EXISTS {name}")
                connection.execute("COMMIT")
                self._ended()

    def discard(self) -> None:
        """Forget all that the step has made."""
        with self._working(stoppable=False) as connection:
            if self._began:
                with suppress(self._without_transaction):  # Ctrl-C came before BEGIN, or behind ROLLBACK
                    connection.execute("ROLLBACK")
                INTERRUPTS.settle()
                self._ended()

    def _ended(self) -> None:
        self._began = False
        self._large.clear()
        if self._keeps_order:
            self._connection.execute("SET preserve_insertion_order = false")
            self._keeps_order = False
        for number in range(self._given):
            self._connection.unregister(f"a{number}")
        self._given = 0

    def close(self) -> None:
        """Forget everything."""
        with self._lock:
            self._connection.close()
        shutil.rmtree(self.folder, ignore_errors=True)
        if self._temporary is not None:
            self._temporary.remove()

    @property
    def next_name(self) -> int:
        """The number of the next table."""
        number = next(self._names)
        self._names = itertools.count(number)
        return number

    @next_name.setter
    def next_name(self, number: int) -> None:
        self._names = itertools.count(number)

    def save(self, path: Path) -> list[str]:
        """Write all tables of state into a database that lies beside the store's folder; gives what makes the indexes.

        DataError if it cannot be written.
        """
        with self._attached(path, "") as connection:
            for name in _tables(connection, "memory"):
                connection.execute(f"CREATE TABLE snapshot.{name} AS FROM memory.main.{name}")
            connection.execute("CHECKPOINT snapshot")
            found = connection.execute("SELECT sql FROM duckdb_indexes() WHERE database_name = 'memory'").fetchall()
        return [str(text) for (text,) in found]

    def restore(self, path: Path, indexes: Iterable[str]) -> None:
        """Have the tables of state of such a database and no others: all, or nothing with a DataError."""
        with self._attached(path, " (READ_ONLY)") as connection, self._whole(connection):
            for name in _tables(connection, "memory"):
                connection.execute(f"DROP TABLE memory.main.{name}")
            for name in _tables(connection, "snapshot"):
                connection.execute(f"CREATE TABLE memory.main.{name} AS FROM snapshot.{name}")
            for statement in indexes:
                connection.execute(statement)

    @contextmanager
    def _attached(self, path: Path, how: str) -> Iterator[DuckDBPyConnection]:
        self.discard()
        with self._working() as connection:
            try:
                connection.execute(f"ATTACH {text_literal(str(path.absolute()))} AS snapshot{how}")
                try:
                    yield connection
                finally:
                    connection.execute("DETACH snapshot")
            except self._interrupted:
                raise
            except self._failed as error:
                raise DataError(Diagnostic("BAD_SNAPSHOT", f"{path}: {message_of(error)}")) from error

    def execute(self, statement: str) -> None:
        """Run a statement."""
        with self._working() as connection:
            connection.execute(statement)

    def name(self) -> str:
        """A name for the changes of one kind, step after step."""
        return f"d{next(self._names)}"

    def made(self, name: str, query: str) -> int:
        """Have a table of the step hold the rows of a query; gives how many they are."""
        with self._working() as connection:
            found = connection.execute(f"CREATE OR REPLACE TEMP TABLE {name} AS {query}").fetchone()
            count = int(found[0]) if found else 0
            if count > LYING_ROWS:
                self._large.append(name)
        return count

    def taken(self, table: pa.Table) -> str:
        """A relation of the step that has the rows of an Arrow table."""
        with self._working() as connection:
            name = f"a{self._given}"
            connection.register(name, from_arrow(table))
            self._given += 1
        return name

    def loaded(self, columns: list[tuple[str, str]], pieces: Iterable[pa.Table]) -> str:
        """A table of the step, with these columns and DuckDB types, that has the rows of Arrow tables."""
        with self._working() as connection:
            name = self.name()
            listed = ", ".join(f"{quoted(column)} {kind}" for column, kind in columns)
            connection.execute(f"CREATE TEMP TABLE {name} ({listed})")
            self._large.append(name)
            for piece in _together(piece.select([column for column, _ in columns]) for piece in pieces):
                connection.register("piece", from_arrow(piece))
                connection.execute(f"INSERT INTO {name} SELECT * FROM piece")
                connection.unregister("piece")
        return name

    @contextmanager
    def given(self, table: pa.Table) -> Iterator[str]:
        """A relation that has the rows of an Arrow table while the block runs, in a step or between steps."""
        name = f"g{next(self._names)}"
        with self._working() as connection:
            connection.register(name, from_arrow(table))
        try:
            yield name
        finally:
            with self._lock:
                self._connection.unregister(name)

    def table(self, columns: list[tuple[str, str]]) -> str:
        """A new table for state, with these columns and DuckDB types, without rows."""
        with self._working() as connection:
            name = f"t{next(self._names)}"
            listed = ", ".join(f"{quoted(column)} {kind}" for column, kind in columns)
            connection.execute(f"CREATE TABLE {name} ({listed})")
        return name

    def drop(self, name: str) -> None:
        """Forget a table."""
        self.execute(f"DROP TABLE IF EXISTS {name}")

    def changed(self, statement: str) -> int:
        """Run an INSERT, UPDATE or DELETE; the number of rows that it has changed."""
        with self._working() as connection:
            found = connection.execute(statement).fetchone()
        return int(found[0]) if found else 0

    def rewritten(self, name: str, query: str) -> int:
        """Have a table of state hold the rows of a query over it instead; the number of its rows."""
        with self._working() as connection, self._whole(connection):
            other = f"{name}_next"
            (count,) = connection.execute(f"CREATE TABLE {other} AS {query}").fetchone() or (0,)
            connection.execute(f"DROP TABLE {name}")
            connection.execute(f"ALTER TABLE {other} RENAME TO {name}")
        return int(count)

    @contextmanager
    def _whole(self, connection: DuckDBPyConnection) -> Iterator[None]:
        """All or nothing, within the step or between steps."""
        if self._began:
            yield
            return
        INTERRUPTS.watch(self)
        self._began = True
        connection.execute("BEGIN")
        try:
            yield
        except BaseException:
            self.discard()
            raise
        self.commit()

    def arrow(self, query: str) -> pa.Table:
        """The rows of a query."""
        with self._working() as connection:
            return connection.sql(query).to_arrow_table()

    def apart(self, query: str, **given: pa.Table) -> pa.Table:
        """The rows of a query over Arrow tables alone, by their names, outside of any step: its error ends none."""
        with self._working(stoppable=False) as connection, closing(connection.cursor()) as cursor:
            for name, rows in given.items():
                cursor.register(name, from_arrow(rows))
            return cursor.sql(query).to_arrow_table()

    def fetched(self, query: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """The few rows of a query with `?` for values."""
        with self._working() as connection:
            found: list[tuple[Any, ...]] = connection.execute(query, values).fetchall()
        return found

    def prepared(self, query: str, values: Sequence[str]) -> list[tuple[Any, ...]]:
        """The few rows of a query with `$1`, … for constants of SQL; it is planned when it is first asked for."""
        with self._working() as connection:
            if query not in self._prepared:
                if len(self._prepared) >= _MOST_PREPARED:
                    connection.execute("DEALLOCATE " + self._prepared.pop(next(iter(self._prepared))))
                name = f"q{next(self._names)}"
                connection.execute(f"PREPARE {name} AS {query}")
                self._prepared[query] = name
            found = connection.execute(f"EXECUTE {self._prepared[query]}({', '.join(values)})").fetchall()
        return list(found)

    def value(self, query: str) -> object:
        """The first value of a query."""
        with self._working() as connection:
            found = connection.execute(query).fetchall()  # all: an answer that is left open is in the way of others
        return found[0][0] if found else None


def _tables(connection: DuckDBPyConnection, database: str) -> list[str]:
    """The tables of a database, without those of a step."""
    query = f"SELECT table_name FROM duckdb_tables() WHERE database_name = '{database}' AND NOT temporary"
    return [str(name) for (name,) in connection.execute(query).fetchall()]


def _together(pieces: Iterable[pa.Table]) -> Iterator[pa.Table]:
    """The rows of Arrow tables in fewer of them: a statement for each step's few rows takes longer than the rows."""
    import pyarrow as pa  # noqa: PLC0415 - `explain` need not wait for it

    alike: list[pa.Table] = []
    for piece in pieces:
        if alike and (piece.schema != alike[0].schema or sum(map(len, alike)) >= LYING_ROWS):
            yield pa.concat_tables(alike)
            alike = []
        alike.append(piece)
    if alike:
        yield pa.concat_tables(alike)
