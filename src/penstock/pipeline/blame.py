"""The part of a statement that is at fault, where Spark only says that something is."""

from __future__ import annotations

from datetime import tzinfo

from penstock.catalog.model import Catalog, Column
from penstock.errors import DataError, Diagnostic, PenstockError
from penstock.sql import statements as sql
from penstock.sql.literals import rows_of
from penstock.steps.rows.values import BadValue, Leniency, converter


def blamed(
    error: PenstockError, statement: sql.Insert | sql.Update | sql.Delete, catalog: Catalog, zone: tzinfo
) -> PenstockError:
    """The error with its place: the value of VALUES that does not fit, else the statement."""
    if isinstance(statement, sql.Insert):
        found = _value_at_fault(statement, catalog, zone)
        if found is not None:
            return DataError(found)
    return error.with_place(statement.span) if error.source is None else error


def _value_at_fault(statement: sql.Insert, catalog: Catalog, zone: tzinfo) -> Diagnostic | None:
    """The first literal that cannot be a value of its column."""
    table = catalog.tables.get(statement.table.lower())
    if table is None:
        return None
    columns = [table.column(name) for name in statement.columns] if statement.columns else list(table.columns)
    for row in rows_of(statement):
        for column, cell in zip(columns, row, strict=False):
            if column is not None and cell.text is not None and not _fits(cell.text, column, zone):
                found = f"'{cell.text[:100]}'" if cell.quoted else cell.text[:100]
                message = f"table {table.name}, column {column.name}: found {found}, expected {column.type.upper()}"
                return Diagnostic("BAD_VALUE", message, cell.span)
    return None


def _fits(text: str, column: Column, zone: tzinfo) -> bool:
    try:
        converter(column.type, zone, Leniency(text=True))(text)
    except BadValue:
        return False
    return True
