"""CREATE TABLE: its key, its defaults, the keys of other tables that it names."""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from penstock.bind.binder import context_of
from penstock.bind.diagnose import unknown_column
from penstock.bind.level import Level
from penstock.bind.program.computed import with_computed
from penstock.bind.program.existing import refuse_dependants, refuse_existing
from penstock.bind.program.views import refuse_reserved
from penstock.bind.program.watermarks import with_waterlines
from penstock.catalog.model import Catalog, Column, ComputedColumn, Table
from penstock.catalog.reserved import POSITION
from penstock.catalog.types import lacks_equality
from penstock.errors import Span
from penstock.plan.scalar import render_scalar
from penstock.sql.complaints import wrong
from penstock.sql.parse import parse_expression
from penstock.sql.statements import CreateTable
from penstock.sql.text import span_of
from penstock.sql.trees import call_name
from penstock.types.check import check_given


def declare_table(catalog: Catalog, statement: CreateTable) -> Catalog:
    """The catalogue with one more table, or with another one in its place."""
    table = statement.table
    if statement.if_not_exists and catalog.relation(table.name) is not None:
        return catalog
    refuse_existing(catalog, table.name, table.span or statement.span, or_replace=statement.or_replace)
    if catalog.relation(table.name) is not None:
        refuse_dependants(catalog, table.name, table.span or statement.span, "replace")
    refuse_cases(table)
    names: list[Column | ComputedColumn] = [*table.shown, *table.computed]
    refuse_reserved([(item.name, item.span or table.span) for item in names])
    _check_key(table)
    _check_foreign_keys(catalog, table)
    columns = tuple(item if item.default is None else with_default(catalog, item) for item in table.columns)
    table = with_computed(_with_positions(replace(table, columns=columns), catalog), catalog)
    return catalog.with_table(with_waterlines(table, catalog))


def _with_positions(table: Table, catalog: Catalog) -> Table:
    """The table whose rows keep, hidden, in which order they have arrived, as dialect flink needs it."""
    if catalog.settings.get("dialect") != "flink" or table.key:
        return table
    return replace(table, columns=(*table.columns, Column(POSITION, "bigint", optional=True, hidden=True)))


def refuse_cases(table: Table) -> None:
    """Raise SqlError for columns that differ by case only: a dialect may tell them apart, Spark does not."""
    seen: dict[str, str] = {}
    named: list[Column | ComputedColumn] = [*table.columns, *table.computed]
    for item in named:
        other = seen.setdefault(item.name.lower(), item.name)
        if other != item.name:
            message = f"the columns {other} and {item.name} differ by case only, which Spark's columns cannot"
            hint = "give one of them another name"
            raise wrong(code="DUPLICATE_COLUMN", message=message, place=item.span or table.span, hint=hint)


def _check_key(table: Table) -> None:
    """A row is found by the form of its key: texts that a collation holds equal are different keys."""
    for item in (column for name in table.key if (column := table.column(name)) is not None):
        if lacks_equality(item.type):
            message = f"a {item.type.upper()} cannot be in a PRIMARY KEY: values that are equal may look different"
            hint = "declare another column as the key, or one that holds a text of the value"
            raise wrong(code="BAD_KEY", message=message, place=item.span or table.span, hint=hint)


def with_default(catalog: Catalog, item: Column) -> Column:
    """The column with a default that Spark can evaluate: functions of the program are expanded."""
    tree = parse_expression(item.default or "NULL")
    if any(True for _ in tree.find_all(exp.Column, exp.Select)):
        hint = "a default is a value, such as 0 or current_timestamp()"
        raise wrong(
            code="DEFAULT_NOT_CONSTANT",
            message="DEFAULT cannot read columns or tables",
            place=_reading(item) or item.span,
            hint=hint,
        )
    level = Level(context_of(catalog))
    bound = level.bind(tree)
    check_given(item.name, item.type, level.shape(bound), item.span)
    expanded = any(call_name(call) in catalog.functions for call in tree.find_all(exp.Anonymous))
    return replace(item, default=render_scalar(bound)) if expanded else item


def _reading(item: Column) -> Span | None:
    """The place of the first column or query in a DEFAULT."""
    tree = item.default_tree
    part = None if tree is None else next(tree.find_all(exp.Column, exp.Select), None)
    return None if part is None else span_of(part)


def _check_foreign_keys(catalog: Catalog, table: Table) -> None:
    for key in table.foreign_keys:
        other = table if key.table.lower() == table.name.lower() else catalog.tables.get(key.table.lower())
        for name, place in zip(key.columns, key.places, strict=True):
            if table.column(name) is None:
                raise unknown_column(name, tuple(item.name for item in table.columns), place)
        if other is None:
            continue  # knowledge for the planner only; the table may come later in the program
        for name in key.referenced:
            if other.column(name) is None:
                raise unknown_column(name, tuple(item.name for item in other.columns), key.span or table.span)
