"""CREATE TABLE: its key, its defaults, the keys of other tables that it names."""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from penstock.bind.binder import context_of
from penstock.bind.diagnose import unknown_column
from penstock.bind.from_.event_time import counted_from
from penstock.bind.level import Level
from penstock.bind.program.existing import refuse_dependants, refuse_existing
from penstock.bind.program.purity import refuse_impure
from penstock.bind.program.views import refuse_reserved
from penstock.bind.scope import Scope, relation_in_scope
from penstock.catalog.model import Catalog, Column, ComputedColumn, Lateness, Table
from penstock.catalog.types import lacks_equality, plain_type
from penstock.plan.forms import reads_clock
from penstock.plan.nodes import Field
from penstock.plan.parsing import parse_scalar
from penstock.plan.reading import form_of
from penstock.plan.scalar import render_scalar
from penstock.sql.complaints import unsupported, wrong
from penstock.sql.parse import parse_expression
from penstock.sql.statements import CreateTable
from penstock.sql.trees import aggregate_calls, call_name, window_calls
from penstock.types.durations import Duration, duration_of


def declare_table(catalog: Catalog, statement: CreateTable) -> Catalog:
    """The catalogue with one more table, or with another one in its place."""
    table = statement.table
    if statement.if_not_exists and catalog.relation(table.name) is not None:
        return catalog
    refuse_existing(catalog, table.name, table.span or statement.span, or_replace=statement.or_replace)
    if catalog.relation(table.name) is not None:
        refuse_dependants(catalog, table.name, table.span or statement.span, "replace")
    _refuse_cases(table)
    refuse_reserved([(item.name, item.span or table.span) for item in table.shown])
    _check_key(table)
    _check_foreign_keys(catalog, table)
    columns = tuple(item if item.default is None else _with_default(catalog, item) for item in table.columns)
    table = replace(table, columns=columns)
    computed = tuple(_bound(catalog, table, item) for item in table.computed)
    table = _with_watermarks(replace(table, computed=computed))
    return catalog.with_table(table)


def _refuse_cases(table: Table) -> None:
    """A dialect may tell columns apart by case; Spark does not."""
    seen: dict[str, str] = {}
    for item in table.columns:
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


def _with_default(catalog: Catalog, item: Column) -> Column:
    """The column with a default that Spark can evaluate: functions of the program are expanded."""
    tree = parse_expression(item.default or "NULL")
    if any(True for _ in tree.find_all(exp.Column, exp.Select)):
        hint = "a default is a value, such as 0 or current_timestamp()"
        raise wrong(
            code="DEFAULT_NOT_CONSTANT", message="DEFAULT cannot read columns or tables", place=item.span, hint=hint
        )
    bound = Level(context_of(catalog)).bind(tree)
    expanded = any(call_name(call) in catalog.functions for call in tree.find_all(exp.Anonymous))
    return replace(item, default=render_scalar(bound)) if expanded else item


def _bound(catalog: Catalog, table: Table, item: ComputedColumn) -> ComputedColumn:
    """The computed column in Spark's words, over the names of the columns that are kept."""
    tree = parse_expression(item.text)
    what = f"the computed column {item.name}"
    refuse_impure(tree, catalog, what)
    if tree.find(exp.Query) or reads_clock(form_of(tree)):
        message = f"{what} reads {'another table' if tree.find(exp.Query) else 'the clock'}"
        hint = "AS PROCTIME() alone is the time at which a row comes; a view may compute with it"
        raise wrong(code="COMPUTED_COLUMN", message=message, place=item.span, hint=hint)
    fields = tuple(Field(one.name, plain_type(one.type), one.nullable) for one in table.columns)
    context = context_of(catalog)
    names = tuple(one.label for one in table.columns)
    level = Level(context, Scope((relation_in_scope(table.name, names, fields, exact=context.exact),)))
    level.fields.update({one.name: one for one in fields})
    bound = level.bind(tree)
    if any(True for _ in (*aggregate_calls(bound), *window_calls(bound))):
        raise wrong(code="COMPUTED_COLUMN", message=f"{what} is of one row, and reads several", place=item.span)
    return replace(item, text=render_scalar(bound))


def _with_watermarks(table: Table) -> Table:
    """The table whose numbers have the bounds of the times that are computed of them, in their own unit."""
    for item in table.computed:
        table = table if item.lateness is None else _with_watermark(table, item, item.lateness)
    return table


def _with_watermark(table: Table, item: ComputedColumn, lateness: Lateness) -> Table:
    name, unit = counted_from(parse_scalar(item.text)) or ("", 1)
    of, length = table.column(name), _length(parse_scalar(lateness.bound))
    if of is None or of.lateness is not None or length.months:
        message = f"a WATERMARK on the computed column {item.name}, which is no TO_TIMESTAMP_LTZ of one column"
        hint = f"declare {item.name} TIMESTAMP(3) and give it with each row"
        raise unsupported(code="COMPUTED_WATERMARK", message=message, place=item.span, hint=hint)
    bounded = replace(of, lateness=Lateness(str(length.micros // unit), span=lateness.span))
    return replace(table, columns=tuple(bounded if one is of else one for one in table.columns))


def _length(bound: exp.Expression) -> Duration:
    nothing = isinstance(bound, exp.Interval) and bound.this is not None and not bound.this.name.strip("0. ")
    return Duration(0, 0) if nothing else duration_of(bound)


def _check_foreign_keys(catalog: Catalog, table: Table) -> None:
    for key in table.foreign_keys:
        other = table if key.table.lower() == table.name.lower() else catalog.tables.get(key.table.lower())
        for name in key.columns:
            if table.column(name) is None:
                raise unknown_column(name, tuple(item.name for item in table.columns), table.span)
        if other is None:
            continue  # knowledge for the planner only; the table may come later in the program
        for name in key.referenced:
            if other.column(name) is None:
                raise unknown_column(name, tuple(item.name for item in other.columns), table.span)
