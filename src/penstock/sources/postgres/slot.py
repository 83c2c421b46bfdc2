"""The publication and the slot of one source: made with a snapshot, found again, advanced, or lost."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from penstock.catalog.model import Table
from penstock.errors import DataError, Diagnostic
from penstock.sources.postgres.connection import Database, TableName, quoted
from penstock.sources.postgres.declared import EXISTING, publication_of, slot_of
from penstock.sources.postgres.messages import lsn_number, lsn_text

_LOCK = 0x70656E74
_OLDEST = 130_000  # which tells how a slot is lost
_FOUND = "SELECT confirmed_flush_lsn::text, COALESCE(wal_status, '') FROM pg_replication_slots WHERE slot_name = %s"
_IDENTITY = """
SELECT c.relreplident::text, array(
    SELECT a.attname::text FROM pg_index i JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = ANY (i.indkey)
    WHERE i.indrelid = c.oid AND CASE WHEN c.relreplident = 'i' THEN i.indisreplident ELSE i.indisprimary END)
FROM pg_class c WHERE c.oid = %s
"""


@dataclass(frozen=True)
class Slot:
    """The slot of one table's source."""

    table: Table
    database: Database
    source: TableName

    @property
    def name(self) -> str:
        """The slot's name."""
        return slot_of(self.table)

    def error(self, code: str, message: str, hint: str | None = None) -> DataError:
        """An error of this source."""
        return DataError(Diagnostic(code, f"table {self.table.name}: {message}", self.table.span, hint=hint))

    def check(self, connection: Any) -> int:
        """The table's number, published and with a fitting identity, and the slot locked; DataError if not."""
        if connection.info.server_version < _OLDEST:
            version = connection.info.server_version // 10_000
            message = f"{self.database.where} is PostgreSQL {version}, and tables are followed from 13 on"
            hint = "'connector' = 'sql' reads a table of any version by a column that grows"
            raise self.error(code="NO_LOGICAL_DECODING", message=message, hint=hint)
        row = connection.execute("SELECT to_regclass(%s)::oid", (self.source.quoted(),)).fetchone()
        if row[0] is None:
            message = f"there is no table {self.source} at {self.database.where}"
            raise self.error(code="NO_SUCH_SOURCE", message=message, hint="correct 'table', or 'connection'")
        (level,) = connection.execute("SHOW wal_level").fetchone()
        if level != "logical":
            hint = "ALTER SYSTEM SET wal_level = 'logical', and restart the database"
            raise self.error(
                code="NO_LOGICAL_DECODING", message=f"{self.database.where} has wal_level = {level}", hint=hint
            )
        self._check_identity(connection, row[0])
        self._publish(connection)
        if not connection.execute("SELECT pg_try_advisory_lock(%s, hashtext(%s))", (_LOCK, self.name)).fetchone()[0]:
            hint = "give this one its own 'slot'"
            message = f"another pipeline reads the slot {self.name}"
            raise self.error(code="SLOT_IN_USE", message=message, hint=hint)
        return int(row[0])

    def _check_identity(self, connection: Any, oid: int) -> None:
        """Refuse a table whose deletions do not say enough to be found here."""
        kind, columns = connection.execute(_IDENTITY, (oid,)).fetchone()
        if kind == "f" or self.table.append_only:
            return
        known = {name.lower() for name in columns} if kind != "n" else set[str]()
        if self.table.key and {name.lower() for name in self.table.key} <= known:
            return
        wanted = f"the key ({', '.join(self.table.key)})" if self.table.key else "the whole row"
        message = f"deletions from {self.source} do not say {wanted}: its REPLICA IDENTITY is {_IDENTITIES[kind]}"
        hint = f"ALTER TABLE {self.source.quoted()} REPLICA IDENTITY FULL"
        if not self.table.key:
            hint += f"; or PRIMARY KEY in CREATE TABLE {self.table.name}"
        raise self.error(code="REPLICA_IDENTITY", message=message, hint=hint)

    def _publish(self, connection: Any) -> None:
        name = publication_of(self.table)
        there = connection.execute("SELECT puballtables FROM pg_publication WHERE pubname = %s", (name,)).fetchone()
        if there is None:
            connection.execute(f"CREATE PUBLICATION {quoted(name)} FOR TABLE {self.source.quoted()}")
            return
        has = "SELECT 1 FROM pg_publication_tables WHERE pubname = %s AND (quote_ident(schemaname) || '.' || "
        has += "quote_ident(tablename))::regclass = %s::regclass"
        if connection.execute(has, (name, self.source.quoted())).fetchone() is None:
            hint = f"ALTER PUBLICATION {quoted(name)} ADD TABLE {self.source.quoted()}"
            raise self.error(code="NOT_PUBLISHED", message=f"publication {name} does not have {self.source}", hint=hint)

    def find(self, connection: Any, position: int) -> None:
        """Stand at a position that a step has: what is before it was taken. DataError if the slot is lost."""
        row = connection.execute(_FOUND, (self.name,)).fetchone()
        if row is None or row[1] == "lost":
            why = "is not there any more" if row is None else "was given up by the database (max_slot_wal_keep_size)"
            message = f"the slot {self.name} {why}, so what followed {lsn_text(position)} is not to be had"
            raise self._lost(message)
        confirmed = lsn_number(row[0])
        if confirmed > position:
            message = f"the slot {self.name} has gone on to {row[0]}, beyond the last step's {lsn_text(position)}"
            raise self._lost(message)
        if confirmed < position:
            self.advance(connection, position)

    def stands_at(self, connection: Any, position: int) -> bool:
        """True if all that followed a position is to be had, and nothing else."""
        row = connection.execute(_FOUND, (self.name,)).fetchone()
        return row is not None and row[1] != "lost" and lsn_number(row[0]) == position

    def _lost(self, message: str) -> DataError:
        return self.error(code="SLOT_LOST", message=message, hint="begin with an empty directory, and a new snapshot")

    def advance(self, connection: Any, position: int) -> None:
        """Have the database forget what is before a position."""
        connection.execute("SELECT pg_replication_slot_advance(%s, %s)", (self.name, lsn_text(position)))

    @contextmanager
    def created(
        self, connection: Any, *, ours: bool, begin: Callable[[], None], opened: Callable[[Any], None]
    ) -> Iterator[tuple[int, str]]:
        """The slot, made anew: the position where it begins, and the snapshot of that, which lasts in the block.

        One that is there is dropped if it is `ours`, or the table says so; else DataError. `begin` is called before
        there is anything that a crash could leave, `opened` with the connection that makes the slot.
        """
        there = connection.execute("SELECT 1 FROM pg_replication_slots WHERE slot_name = %s", (self.name,)).fetchone()
        if there is not None and not ours and EXISTING.value(self.table) != "replace":
            message = f"the slot {self.name} is there already, and this pipeline begins anew"
            hint = "'on_existing_slot' = 'replace' drops it, and what waits in it; or name another 'slot'"
            raise self.error(code="SLOT_EXISTS", message=message, hint=hint)
        begin()
        if there is not None:
            connection.execute("SELECT pg_drop_replication_slot(%s)", (self.name,))
        replicating = self.database.connect(autocommit=True, replication="database")
        try:
            opened(replicating)
            command = f"CREATE_REPLICATION_SLOT {quoted(self.name)} LOGICAL pgoutput EXPORT_SNAPSHOT"
            found = replicating.pgconn.exec_(command.encode())
            if found.ntuples != 1:
                raise self.error(code="NO_LOGICAL_DECODING", message=" ".join(found.error_message.decode().split()))
            yield lsn_number(found.get_value(0, 1).decode()), found.get_value(0, 2).decode()
        finally:
            replicating.close()


_IDENTITIES = {"d": "DEFAULT", "n": "NOTHING", "i": "USING INDEX", "f": "FULL"}
