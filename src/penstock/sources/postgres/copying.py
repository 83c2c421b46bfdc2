"""The making of a copy: a slot, a snapshot of the table where the slot begins, and a file that has all its rows.

It is done by a thread, over connections of its own: to make a slot takes as long as transactions last that have begun
before, and to copy a large table takes minutes, in which other sources are read and Ctrl-C is heard.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from penstock.backends.surroundings import writing
from penstock.failpoints import reach
from penstock.sources.looks import Look
from penstock.sources.postgres.connection import driver, quoted
from penstock.sources.postgres.copied import ROWS, Copy, remove_copy
from penstock.sources.postgres.messages import TypeOf
from penstock.sources.postgres.slot import Slot
from penstock.steps.durable import put_on_disk

_COLUMNS = """
SELECT attname::text, atttypid::bigint, atttypmod FROM pg_attribute
WHERE attrelid = %s AND attnum > 0 AND NOT attisdropped ORDER BY attnum
"""
Columns = Mapping[str, TypeOf]


class GivenUpError(Exception):
    """Nobody wants the copy any more."""


def columns_of(connection: Any, oid: int) -> Columns:
    """The columns that a table has now."""
    return {name: TypeOf(*kind) for name, *kind in connection.execute(_COLUMNS, (oid,)).fetchall()}


class Copying:
    """A copy that is being made; `rows` and `size` are those that have come so far."""

    def __init__(  # noqa: PLR0917 - a slot, where it and its copy are noted, and which columns are wanted
        self,
        slot: Slot,
        oid: int,
        folder: Path,
        of: Mapping[str, str],
        wanted: Callable[[Columns], Columns],
        begin: Callable[[], None],
        *,
        ours: bool,
    ) -> None:
        self._slot, self._oid, self._folder, self._of = slot, oid, folder, of
        self._wanted, self._begin, self._ours = wanted, begin, ours
        self.rows = self.size = 0
        self._connections: list[Any] = []
        self._ended = self._left = False
        self._look: Look[Copy] = Look(self._made)

    def is_done(self, seconds: float) -> bool:
        """True if it has been made, or cannot be, after so long at most."""
        return self._look.done.wait(seconds)

    def copy(self) -> Copy:
        """The copy, once it is done; raises what making it has raised."""
        found = self._look.answer()
        assert found is not None  # noqa: S101 - it makes one, or raises
        return found

    def end(self, seconds: float) -> None:
        """Give up what is not done; the database is told, and waited for as long."""
        self._ended = True
        for connection in tuple(self._connections):
            connection.cancel()
        self._left = not self._look.done.wait(seconds)  # what it finds then is another's

    def _made(self) -> Copy:
        connection = self._slot.database.connect(autocommit=True)
        try:
            self._hold(connection)
            connection.execute("SET statement_timeout = 0")  # it takes as long as it takes
            made = self._slot.created(connection, ours=self._ours, begin=self._begin, opened=self._hold)
            with made as (lsn, snapshot):
                try:
                    reach("source.slot")
                    return self._taken(connection, lsn, snapshot)
                except BaseException:
                    self._give_up(connection)
                    raise
        finally:
            self._connections.clear()
            connection.close()

    def _hold(self, connection: Any) -> None:
        """Have a connection be cancelled when the copy is given up, which may have been so already."""
        self._connections.append(connection)
        self._go_on()

    def _go_on(self) -> None:
        if self._ended:
            raise GivenUpError

    def _give_up(self, connection: Any) -> None:
        """Leave nothing of a copy that is not whole."""
        if self._left:
            return
        remove_copy(self._folder)
        with suppress(driver().Error):  # a slot that cannot be dropped now is found to be ours the next time
            connection.execute("SELECT pg_drop_replication_slot(%s)", (self._slot.name,))

    def _taken(self, connection: Any, lsn: int, snapshot: str) -> Copy:
        remove_copy(self._folder)
        with connection.transaction():
            connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
            connection.execute(f"SET TRANSACTION SNAPSHOT '{snapshot}'")
            columns = self._wanted(columns_of(connection, self._oid))
            listed = ", ".join(map(quoted, columns))
            self._write(connection, f"COPY (SELECT {listed} FROM {self._slot.source.quoted()}) TO STDOUT")
        found = Copy(self._folder, lsn, columns, self.rows, self.size)
        self._go_on()
        found.keep(self._of)
        reach("source.copied")
        return found

    def _write(self, connection: Any, query: str) -> None:
        path = self._folder / ROWS
        with writing(path):
            self._folder.mkdir(parents=True, exist_ok=True)
            with path.open("wb") as file, connection.cursor().copy(query) as copy:
                for block in copy:
                    self._go_on()
                    file.write(block)
                    self.rows += bytes(block).count(b"\n")
                    self.size += len(block)
                file.flush()
                put_on_disk(file.fileno(), path)
