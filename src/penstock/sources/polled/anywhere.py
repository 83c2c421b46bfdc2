"""Any database that SQLAlchemy has a dialect for: MySQL, MariaDB, SQL Server, Oracle, and what others bring.

SQLAlchemy writes the questions, since these databases quote names and limit rows each in its own way.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from penstock.catalog.model import Table
from penstock.errors import DataError, Diagnostic, UnsupportedError, first_line
from penstock.sources.looks import AwayError, RefusedError
from penstock.sources.packages import package
from penstock.sources.polled.databases import Rows
from penstock.sources.polled.declared import COLUMN, PASSWORD, QUERY, TABLE, URL, USER
from penstock.sources.secrets import expanded, masked


@dataclass
class Anywhere:
    """A table or query, and the engine of SQLAlchemy by which it is reached."""

    library: Any
    engine: Any
    relation: Any
    column: Any
    where: str
    secrets: frozenset[str] = field(default=frozenset(), repr=False)
    _connection: Any = field(default=None, repr=False)

    @classmethod
    def of(cls, table: Table, url: str, what: str) -> Anywhere:
        """The questions for a table's rows. DataError for no address, UnsupportedError without the client for it."""
        library = package("sqlalchemy", "what asks databases by the connector sql", "sql")
        user, password = USER.value(table), PASSWORD.value(table)
        secret = expanded(password, f"{what}: '{PASSWORD.name}'") if password else None
        try:
            address = library.engine.make_url(url)
            if user and not address.username:
                address = address.set(username=expanded(user, f"{what}: '{USER.name}'"))
            address = address if secret is None else address.set(password=secret)
            engine = library.create_engine(address, poolclass=library.pool.NullPool)
        except ImportError as error:
            message = f"{what}: the client for {URL.name} is not installed: {error.name or error}"
            raise UnsupportedError(Diagnostic("MISSING_PACKAGE", message, table.span, hint=_CLIENT)) from None
        except (library.exc.ArgumentError, ValueError) as error:
            known = {url, *(() if secret is None else (secret,))}
            message = f"{what}: '{URL.name}' is no address that SQLAlchemy knows: {masked(first_line(error), known)}"
            raise DataError(Diagnostic("BAD_PROPERTY", message, table.span, hint=URL.takes)) from None
        secrets = frozenset({str(address.password)} if address.password else ())
        where = address.set(username=None, password=None, query={}).render_as_string()
        column = library.column(COLUMN.value(table))
        return cls(library, engine, _relation(library, table, column), column, where, secrets)

    def above(self, value: Any, rows: int) -> Rows:
        """The first rows that have more than the value."""
        wanted = self.column.is_not(None) if value is None else self.column > value
        return self._ask(self._rows.where(wanted).order_by(self.column).limit(rows))

    def equal(self, value: Any) -> Rows:
        """All rows of one value."""
        return self._ask(self._rows.where(self.column == value))

    def between(self, start: Any, end: Any) -> Rows:
        """All rows above `start` and up to `end`."""
        wanted = self._rows.where(self.column <= end)
        return self._ask((wanted if start is None else wanted.where(self.column > start)).order_by(self.column))

    @property
    def _rows(self) -> Any:
        return self.library.select(self.library.text("*")).select_from(self.relation)

    def _ask(self, query: Any) -> Rows:
        try:
            if self._connection is None:
                self._connection = self.engine.connect()
        except self.library.exc.DBAPIError as error:
            raise AwayError(first_line(error.orig or error)) from None
        try:
            with self._connection.begin():
                found = self._connection.execute(query)
                return list(found.keys()), [tuple(row) for row in found.fetchall()]
        except self.library.exc.DBAPIError as error:
            self.close()
            raise (AwayError if error.connection_invalidated else RefusedError)(
                first_line(error.orig or error)
            ) from None
        except self.library.exc.SQLAlchemyError as error:
            self.close()
            raise RefusedError(first_line(error)) from None

    def close(self) -> None:
        """Let go of the connection."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()


_CLIENT = "pip install pymysql for mysql+pymysql://, oracledb for oracle+oracledb://, pymssql for mssql+pymssql://"


def _relation(library: Any, table: Table, column: Any) -> Any:
    query = table.properties.get(QUERY.name)
    if query is not None:
        return library.text(query.replace(":", "\\:")).columns(column).subquery("polled")
    schema, _, name = TABLE.value(table).rpartition(".")
    return library.table(name, column, schema=schema or None)
