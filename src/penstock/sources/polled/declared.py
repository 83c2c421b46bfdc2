"""The declaration of a table that is asked for by a growing column."""

from __future__ import annotations

from penstock.catalog.model import Table
from penstock.catalog.properties import value_place
from penstock.errors import Diagnostic, SqlError, did_you_mean
from penstock.sources.formats.declared import EPOCH, ON_ERROR
from penstock.sources.packages import Extra, check_extra
from penstock.sources.properties import Property, check_duration

KINDS = {
    "postgresql": "postgres",
    "postgres": "postgres",
    "sqlite": "sqlite",
    "duckdb": "duckdb",
    **dict.fromkeys(("mysql", "mariadb", "mssql", "oracle"), "sqlalchemy"),
}


def kind_of(url: str) -> str | None:
    """The kind of database that an address is of; None for one that nobody here asks."""
    scheme, mark, rest = url.partition(":")
    if "+" in scheme and rest.startswith("//"):  # dialect+client, as SQLAlchemy has them
        return "sqlalchemy"
    return KINDS.get(scheme.lower()) if mark else None


def _check_url(text: str) -> str | None:
    known = text.startswith("${") or kind_of(text) is not None
    return None if known else "it is no address of a database that is known here"


def _check_number(text: str) -> str | None:
    return None if text.isascii() and text.isdigit() and int(text) > 0 else "it is no whole number above 0"


URL = Property(
    "url",
    "The database: `postgresql://…`, `sqlite:FILE` or `duckdb:FILE`; any other by SQLAlchemy (`penstock[sql]`) and its "
    "client: `mysql+pymysql://…`, `oracle+oracledb://…`, `mssql+pymssql://…`.",
    takes="as in 'postgresql://penstock@db/shop' or 'mysql+pymysql://penstock@db/shop'",
    check=_check_url,
    required=True,
)
USER = Property("user", "The user, where `url` has none.", takes="a name")
PASSWORD = Property("password", "The password, where `url` has none.", takes="as in '${env:SHOP_PASSWORD}'")
TABLE = Property("table", "The table or view that is asked.", takes="a name, as in 'public.orders'")
QUERY = Property("query", "In its place a SELECT, which is asked as a subquery.", takes="SQL of the database")
COLUMN = Property(
    "column",
    "The column that grows: each time the rows are asked for that have more of it than the last that was read. It must "
    "be a column of the table here too, and rows with less must not come later.",
    takes="a name",
    required=True,
)
EVERY = Property(
    "every",
    "How often it is asked while it has nothing new.",
    "10 seconds",
    takes="an interval as in '10 seconds'",
    check=check_duration,
)
TIMEOUT = Property(
    "timeout",
    "How long to wait for a database that does not answer, before `run` stops with an error.",
    "1 minute",
    takes="an interval as in '10 seconds'",
    check=check_duration,
)
UNKNOWN_COLUMNS = Property(
    "unknown_columns",
    "Columns of what is asked that the table lacks are left out, or end the run, or the table gets them, as by "
    "`ALTER TABLE … ADD COLUMNS`, with the step that first has a value of them.",
    "ignore",
    ("ignore", "reject", "add"),
)
PROPERTIES = (URL, USER, PASSWORD, TABLE, QUERY, COLUMN, EVERY, TIMEOUT, ON_ERROR, UNKNOWN_COLUMNS, EPOCH)


def check(table: Table) -> None:
    """SqlError for neither a table nor a query, or both, and for a column that the table has not."""
    if (TABLE.name in table.properties) == (QUERY.name in table.properties):
        message = f"table {table.name}: the connector sql needs either 'table' or 'query'"
        raise SqlError(Diagnostic("MISSING_PROPERTY", message, table.span, hint="'table' = 'public.orders'"))
    if kind_of(URL.value(table)) == "sqlalchemy":
        check_extra(table, URL.name, Extra("sqlalchemy", "sql"), f"table {table.name}")
    wanted = COLUMN.value(table)
    if table.column(wanted) is None:
        known = [column.name for column in table.shown]
        message = f"table {table.name}: 'column' names {wanted[:60]!r}, which is no column of it"
        place = value_place(table, COLUMN.name)
        raise SqlError(Diagnostic("UNKNOWN_COLUMN", message, place, did_you_mean(wanted, known)))
