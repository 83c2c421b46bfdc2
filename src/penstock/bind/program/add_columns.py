"""ALTER TABLE … ADD COLUMNS: what a column must be whose table may have rows already."""

from __future__ import annotations

from dataclasses import replace

from penstock.bind.diagnose import unknown_column
from penstock.bind.program.create_table import refuse_cases, with_default
from penstock.bind.program.dml import table_of
from penstock.bind.program.purity import any_impure
from penstock.bind.program.views import refuse_reserved
from penstock.catalog.model import Catalog, Column, Table
from penstock.sql.complaints import unsupported, wrong
from penstock.sql.parse import parse_expression
from penstock.sql.statements import AddColumns, AddedColumn


def declare_columns(catalog: Catalog, statement: AddColumns) -> Catalog:
    """The catalogue in which a table has more columns."""
    table = table_of(statement.table, statement.table_span, catalog)
    before = table
    for item in statement.columns:
        there = _is_there(before, item.column.name)
        if there and statement.if_not_exists:
            continue
        if _is_there(table, item.column.name):
            message = f"the table {table.name} has a column {item.column.name!r} already"
            hint = "IF NOT EXISTS leaves it as it is"
            raise wrong(code="DUPLICATE_COLUMN", message=message, place=item.column.span, hint=hint, sqlstate="42701")
        table = _with_column(catalog, table, item)
    if table is before:
        return catalog
    refuse_cases(table)
    return catalog.with_table(replace(table, text=f"{before.text};\n{statement.text}"))


def _is_there(table: Table, name: str) -> bool:
    names = [*(item.name for item in table.columns), *(item.name for item in table.computed)]
    return name.lower() in {item.lower() for item in names}


def _with_column(catalog: Catalog, table: Table, item: AddedColumn) -> Table:
    refuse_reserved([(item.column.name, item.column.span)])
    refuse_added(item.column)
    if item.after and all(item.after.lower() != other.name.lower() for other in table.shown):
        raise unknown_column(item.after, tuple(other.name for other in table.shown), item.after_span)
    column = item.column if item.column.default is None else with_default(catalog, item.column)
    return table.with_column(column, item.after)


def refuse_added(column: Column) -> None:
    """Raise SqlError for a column that rows which are there already cannot be given."""
    if column.lateness is not None or column.watermark is not None:
        what = "LATENESS" if column.lateness is not None else "WATERMARK"
        message = f"the column {column.name!r} has {what}, which would have to hold for rows that are there"
        hint = f"leave {what} out, or declare another table"
        raise unsupported(code="ADDED_COLUMN", message=message, place=column.span, hint=hint)
    if not column.nullable and column.default is None:
        message = f"the column {column.name!r} is NOT NULL and has no DEFAULT, which rows that are there would need"
        hint = "give it a DEFAULT, or leave NOT NULL out"
        raise wrong(code="MISSING_VALUE", message=message, place=column.span, hint=hint, sqlstate="23502")
    if column.default is not None and any_impure(parse_expression(column.default)):
        message = f"DEFAULT {column.default} has another value for each row, which rows that are there cannot be given"
        hint = "such a default is for the columns of CREATE TABLE; here it is a value, such as 0 or current_timestamp()"
        raise wrong(code="DEFAULT_NOT_CONSTANT", message=message, place=column.span, hint=hint)
