"""Which part of a statement is at fault, where Spark only says that something is."""

from __future__ import annotations

from dataclasses import replace
from datetime import tzinfo

from sqlglot import exp

from penstock.catalog.model import Catalog, Column
from penstock.errors import DataError, Diagnostic, PenstockError, Span
from penstock.sql import statements as sql
from penstock.sql.text import span_of
from penstock.steps.rows.values import BadValue, Leniency, converter


def blamed(
    error: PenstockError, statement: sql.Insert | sql.Update | sql.Delete, catalog: Catalog, zone: tzinfo
) -> PenstockError:
    """The error with its place: the value of VALUES that does not fit, else the statement."""
    if isinstance(statement, sql.Insert):
        found = _value_at_fault(statement, catalog, zone)
        if found is not None:
            return DataError(found)
    if error.source is None:
        places = (item.span or statement.span for item in error.diagnostics)
        error.diagnostics = tuple(map(_placed, error.diagnostics, places))
    return error


def _placed(found: Diagnostic, span: Span) -> Diagnostic:
    return replace(found, span=span)


def _value_at_fault(statement: sql.Insert, catalog: Catalog, zone: tzinfo) -> Diagnostic | None:
    """The first literal that cannot be a value of its column."""
    table = catalog.tables.get(statement.table.lower())
    values = statement.source.find(exp.Values)
    if table is None or values is None:
        return None
    columns = [table.column(name) for name in statement.columns] if statement.columns else list(table.columns)
    for row in values.expressions:
        cells = row.expressions if isinstance(row, exp.Tuple) else [row]
        for column, cell in zip(columns, cells, strict=False):
            text = _literal(cell)
            if column is not None and text is not None and not _fits(text, column, zone):
                found = f"'{text[:100]}'" if cell.is_string else text[:100]
                message = f"table {table.name}, column {column.name}: found {found}, expected {column.type.upper()}"
                return Diagnostic("BAD_VALUE", message, span_of(cell))
    return None


def _literal(cell: exp.Expression) -> str | None:
    """The text of a literal."""
    if isinstance(cell, exp.Neg) and isinstance(cell.this, exp.Literal):
        return f"-{cell.this.this}"
    return str(cell.this) if isinstance(cell, exp.Literal) else None


def _fits(text: str, column: Column, zone: tzinfo) -> bool:
    try:
        converter(column.type, zone, Leniency(text=True))(text)
    except BadValue:
        return False
    return True
