"""Databases as they are asked: how to reach each, and how its client wants a value in a query.

Another database is a class as those below and a word in `declared.KINDS`.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

import duckdb

from penstock.catalog.model import Table
from penstock.errors import first_line
from penstock.sources.looks import AwayError, RefusedError
from penstock.sources.polled.declared import COLUMN, QUERY, TABLE, URL, USER
from penstock.sources.postgres.connection import database_of, driver, quoted
from penstock.sources.properties import Declared
from penstock.sources.secrets import expanded

Rows = tuple[list[str], list[tuple[Any, ...]]]


class Growing(Protocol):
    """A table or query that is asked by its growing column, in its order. AwayError, RefusedError."""

    def above(self, value: Any, rows: int) -> Rows:
        """The first rows that have more than the value, or anything where it is None."""

    def equal(self, value: Any) -> Rows:
        """All rows of one value."""

    def between(self, start: Any, end: Any) -> Rows:
        """All rows above `start`, where there is one, and up to `end`."""

    def close(self) -> None:
        """Let go of the connection; the next question makes another."""


class Reading(Protocol):
    """A database that is asked; what it says has no secrets."""

    mark: str  # the place of a value in a query

    def ask(self, query: str, values: Sequence[Any]) -> Rows:
        """The names of the columns, and the rows. AwayError, RefusedError."""

    def close(self) -> None:
        """Let go of the connection; the next question makes another."""


@dataclass
class Written:
    """Questions in the words that the databases here have in common."""

    reading: Reading
    asked: str
    column: str

    @classmethod
    def of(cls, table: Table, reading: Reading) -> Written:
        """The questions for a table's rows."""
        query = table.properties.get(QUERY.name)
        asked = _named(TABLE.value(table)) if query is None else f"({query})"
        asked = asked.replace("%", "%%") if reading.mark == "%s" else asked
        return cls(reading, f"SELECT * FROM {asked} AS polled", quoted(COLUMN.value(table)))

    def above(self, value: Any, rows: int) -> Rows:
        """The first rows that have more than the value."""
        above = f"{self.column} IS NOT NULL" if value is None else f"{self.column} > {self.reading.mark}"
        values = [] if value is None else [value]
        return self.reading.ask(f"{self.asked} WHERE {above} ORDER BY {self.column} LIMIT {rows}", values)

    def equal(self, value: Any) -> Rows:
        """All rows of one value."""
        return self.reading.ask(f"{self.asked} WHERE {self.column} = {self.reading.mark}", [value])

    def between(self, start: Any, end: Any) -> Rows:
        """All rows above `start` and up to `end`."""
        mark, column = self.reading.mark, self.column
        above = "" if start is None else f" AND {column} > {mark}"
        values = [end] if start is None else [end, start]
        return self.reading.ask(f"{self.asked} WHERE {column} <= {mark}{above} ORDER BY {column}", values)

    def close(self) -> None:
        """Let go of the connection."""
        self.reading.close()


def _named(name: str) -> str:
    """A table's name, part by part."""
    return ".".join(quoted(part) for part in name.split("."))


@dataclass
class Sqlite:
    """A file of SQLite, which is only read."""

    path: str
    mark: str = "?"

    def ask(self, query: str, values: Sequence[Any]) -> Rows:
        """Ask over a connection of its own, so that no lock stays."""
        if not Path(self.path).is_file():
            message = f"there is no file {self.path}"
            raise AwayError(message)
        try:
            connection = sqlite3.connect(f"{Path(self.path).resolve().as_uri()}?mode=ro", uri=True, timeout=1.0)
            try:
                found = connection.execute(query, tuple(values))
                return [item[0] for item in found.description], found.fetchall()
            finally:
                connection.close()
        except sqlite3.OperationalError as error:
            if "locked" in str(error) or "busy" in str(error) or "unable to open" in str(error):
                raise AwayError(str(error)) from None
            raise RefusedError(str(error)) from None
        except sqlite3.Error as error:
            raise RefusedError(str(error)) from None

    def close(self) -> None:
        """Nothing is held."""


@dataclass
class DuckDb:
    """A file of DuckDB, which is only read; while another process writes it, it is away."""

    path: str
    mark: str = "?"

    def ask(self, query: str, values: Sequence[Any]) -> Rows:
        """Ask over a connection of its own, so that others may write meanwhile."""
        try:
            with duckdb.connect(self.path, read_only=True) as connection:
                found = connection.execute(query, list(values))
                return [item[0] for item in found.description or ()], found.fetchall()
        except (duckdb.IOException, duckdb.ConnectionException) as error:
            raise AwayError(first_line(error)) from None
        except duckdb.Error as error:
            raise RefusedError(first_line(error)) from None

    def close(self) -> None:
        """Nothing is held."""


@dataclass
class Postgres:
    """A database of PostgreSQL."""

    declared: Declared
    what: str
    mark: str = "%s"
    _connection: Any = field(default=None, repr=False)

    def __post_init__(self) -> None:
        """DataError for an address that is none, or a secret that is not there."""
        found, user = database_of(self.declared.properties, self.what, named=URL.name), USER.value(self.declared)
        if user:
            found = replace(found, parameters={"user": expanded(user, f"{self.what}: 'user'"), **found.parameters})
        self._database = found

    @property
    def where(self) -> str:
        """The database as people name it."""
        return self._database.where

    def ask(self, query: str, values: Sequence[Any]) -> Rows:
        """Ask over a connection that stays."""
        psycopg = driver()
        try:
            if self._connection is None:
                self._connection = self._database.connect(autocommit=True)
            found = self._connection.execute(query, list(values))
            return [item.name for item in found.description or ()], found.fetchall()
        except (psycopg.OperationalError, psycopg.InterfaceError) as error:
            self.close()
            raise AwayError(self._database.said(error)) from None
        except psycopg.Error as error:
            raise RefusedError(self._database.said(error)) from None

    def close(self) -> None:
        """Let go of the connection."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()
