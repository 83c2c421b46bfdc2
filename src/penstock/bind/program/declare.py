"""DDL and SET: each statement checked against the catalogue and added to it."""

from __future__ import annotations

from dataclasses import fields, replace
from types import MappingProxyType

from sqlglot import exp

from penstock.bind.binder import context_of
from penstock.bind.diagnose import unknown_column, unknown_relation
from penstock.bind.level import Level
from penstock.bind.program.purity import refuse_impure
from penstock.bind.program.recursion import close_components
from penstock.bind.program.unparsed import unparsed_view
from penstock.bind.program.views import dependants, refuse_reserved, replaced_view, view_of
from penstock.bind.scope import Scope, Visible
from penstock.catalog.model import Catalog, Column, Function, Table, View
from penstock.catalog.types import lacks_equality
from penstock.catalog.zones import zone_named
from penstock.errors import Span, SqlError, UnsupportedError, did_you_mean
from penstock.plan.scalar import column_tree, render_scalar
from penstock.sql.complaints import wrong
from penstock.sql.parse import parse_expression
from penstock.sql.statements import (
    CreateFunction,
    CreateTable,
    CreateView,
    DeclareRecursiveView,
    Drop,
    Reset,
    Set,
    SetLateness,
    Statement,
    Unparsed,
)
from penstock.sql.trees import call_name

DDL = (CreateTable, CreateView, Unparsed, DeclareRecursiveView, CreateFunction, Drop, SetLateness, Set, Reset)


def declare_one(catalog: Catalog, statement: Statement) -> Catalog:
    """The catalogue after one DDL statement; raises SqlError or UnsupportedError and has changed nothing then."""
    match statement:
        case CreateTable():
            return _table(catalog, statement)
        case CreateView():
            return _view(catalog, statement)
        case Unparsed():
            return _unparsed(catalog, statement)
        case DeclareRecursiveView():
            return _recursive(catalog, statement)
        case CreateFunction():
            return _function(catalog, statement)
        case Drop():
            return _drop(catalog, statement)
        case SetLateness():
            return _lateness(catalog, statement)
        case Set():
            name = statement.name
            if name == "time zone" and statement.value and zone_named(statement.value) is None:
                message, hint = f"there is no time zone {statement.value[:100]!r}", "as in 'Europe/Rome' or '+05:30'"
                raise wrong(code="BAD_TIME_ZONE", message=message, place=statement.span, hint=hint)
            return catalog if name is None or statement.value is None else catalog.with_setting(name, statement.value)
        case Reset():
            return (
                replace(catalog, settings=MappingProxyType({}))
                if statement.name is None
                else catalog.with_setting(statement.name, None)
            )
        case _:
            message = f"{type(statement).__name__} declares nothing"
            raise wrong(code="NOT_A_DECLARATION", message=message, place=statement.span)


def _refuse_existing(catalog: Catalog, name: str, span: Span | None, *, or_replace: bool) -> None:
    found = catalog.relation(name)
    if found is not None and not or_replace:
        what = "table" if isinstance(found, Table) else "view"
        hint = f"CREATE OR REPLACE replaces it, DROP {what.upper()} {found.name} removes it"
        raise wrong(
            code="ALREADY_EXISTS",
            message=f"there is a {what} {found.name!r} already",
            place=span,
            hint=hint,
            sqlstate="42P07",
        )


def _table(catalog: Catalog, statement: CreateTable) -> Catalog:
    table = statement.table
    if statement.if_not_exists and catalog.relation(table.name) is not None:
        return catalog
    _refuse_existing(catalog, table.name, table.span or statement.span, or_replace=statement.or_replace)
    if catalog.relation(table.name) is not None:
        _refuse_dependants(catalog, table.name, table.span or statement.span, "replace")
    _refuse_cases(table)
    refuse_reserved([(item.name, item.span or table.span) for item in table.columns])
    _check_key(table)
    _check_foreign_keys(catalog, table)
    columns = tuple(item if item.default is None else _with_default(catalog, item) for item in table.columns)
    return catalog.with_table(replace(table, columns=columns))


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


def _view(catalog: Catalog, statement: CreateView) -> Catalog:
    old = catalog.views.get(statement.name.lower())
    if statement.if_not_exists and catalog.relation(statement.name) is not None:
        return catalog
    waiting = old is not None and old.recursive and old.plan is None
    _refuse_existing(catalog, statement.name, statement.name_span, or_replace=statement.or_replace or waiting)
    if statement.name.lower() in catalog.tables:
        message = f"{statement.name!r} is a table; a view cannot replace it"
        raise wrong(code="ALREADY_EXISTS", message=message, place=statement.name_span, sqlstate="42P07")
    refuse_impure(statement.query, catalog, "a view")
    view = _bound_or_whole(catalog, statement)
    found = catalog.with_view(view) if old is None else replaced_view(catalog, old, view, statement.name_span)
    return close_components(found, view)


def _bound_or_whole(catalog: Catalog, statement: CreateView) -> View:
    """The view; where only Spark knows the columns that a `*` stands for, Spark gets the query as it is written."""
    try:
        return view_of(catalog, statement)
    except UnsupportedError as error:
        plain = not statement.column_names and statement.into is None
        plain = plain and catalog.settings.get("dialect", "penstock") == "penstock"
        if not plain or error.diagnostics[0].code != "STAR_OVER_RECOMPUTED":
            raise
        reason = error.diagnostics[0].message.removeprefix("not supported: ")
        whole = {item.name: getattr(statement, item.name) for item in fields(Unparsed) if hasattr(statement, item.name)}
        return unparsed_view(catalog, Unparsed(**whole, reason=reason))


def _unparsed(catalog: Catalog, statement: Unparsed) -> Catalog:
    _refuse_existing(catalog, statement.name, statement.name_span, or_replace=statement.or_replace)
    return catalog.with_view(unparsed_view(catalog, statement))


def _recursive(catalog: Catalog, statement: DeclareRecursiveView) -> Catalog:
    _refuse_existing(catalog, statement.name, statement.span, or_replace=False)
    empty = exp.Select()
    view = View(statement.name, "", empty, statement.columns, None, recursive=True, span=statement.span)
    return catalog.with_view(view)


def _function(catalog: Catalog, statement: CreateFunction) -> Catalog:
    lower = statement.name.lower()
    if lower in catalog.functions and not statement.or_replace:
        hint = "CREATE OR REPLACE FUNCTION replaces it"
        raise wrong(
            code="ALREADY_EXISTS",
            message=f"there is a function {statement.name!r} already",
            place=statement.span,
            hint=hint,
        )
    function = Function(statement.name, statement.parameters, statement.returns, statement.body, statement.text)
    level = Level(
        context_of(catalog),
        Scope(shown=tuple(Visible(item.name, column_tree(item.name)) for item in statement.parameters)),
    )
    level.bind(statement.body)
    return catalog.with_function(function)


def _drop(catalog: Catalog, statement: Drop) -> Catalog:
    if statement.what == "function":
        return _drop_function(catalog, statement)
    found = (
        catalog.tables.get(statement.name.lower())
        if statement.what == "table"
        else catalog.views.get(statement.name.lower())
    )
    if found is None:
        other = catalog.relation(statement.name)
        if other is not None:
            kind = "view" if statement.what == "table" else "table"
            message = f"{other.name!r} is a {kind}"
            raise wrong(
                code="WRONG_KIND",
                message=message,
                place=statement.name_span,
                hint=f"use DROP {kind.upper()} {other.name}",
                sqlstate="42809",
            )
        if statement.if_exists:
            return catalog
        raise unknown_relation(statement.name, catalog.relation_names(), statement.name_span)
    _refuse_dependants(catalog, statement.name, statement.name_span, "drop")
    return catalog.without(statement.name)


def _refuse_dependants(catalog: Catalog, name: str, span: Span | None, action: str) -> None:
    readers = dependants(catalog, name)
    if readers:
        message = f"cannot {action} {name!r}: it is read by {', '.join(readers)}"
        raise wrong(
            code="HAS_DEPENDANTS", message=message, place=span, hint=f"DROP VIEW {readers[-1]} first", sqlstate="2BP01"
        )


def _drop_function(catalog: Catalog, statement: Drop) -> Catalog:
    lower = statement.name.lower()
    if lower not in catalog.functions:
        if statement.if_exists:
            return catalog
        close = did_you_mean(statement.name, tuple(catalog.functions))
        message = f"there is no function {statement.name[:80]!r}"
        raise wrong(
            code="UNKNOWN_FUNCTION", message=message, place=statement.name_span, candidates=close, sqlstate="42883"
        )
    kept = {name: item for name, item in catalog.functions.items() if name != lower}
    return replace(catalog, functions=MappingProxyType(kept))


def _lateness(catalog: Catalog, statement: SetLateness) -> Catalog:
    view = catalog.views.get(statement.view.lower())
    if view is None:
        raise _no_view(catalog, statement)
    names = tuple(item.name for item in view.columns)
    name = next((item for item in names if item.lower() == statement.column.lower()), None)
    if name is None:
        raise unknown_column(statement.column, names, statement.span)
    if name.lower() in view.lateness:
        message = f"{view.name}.{name} has two declarations of LATENESS"
        raise wrong(code="BAD_LATENESS", message=message, place=statement.span, hint="leave one of them out")
    lateness = MappingProxyType({**view.lateness, name.lower(): statement.lateness})
    return catalog.with_view(replace(view, lateness=lateness))


def _no_view(catalog: Catalog, statement: SetLateness) -> SqlError:
    table = catalog.tables.get(statement.view.lower())
    if table is None:
        return unknown_relation(statement.view, tuple(item.name for item in catalog.views.values()), statement.span)
    message = f"{table.name} is a table; the statement LATENESS is for the columns of views"
    hint = f"write LATENESS behind the column, in CREATE TABLE {table.name}"
    return wrong(code="BAD_LATENESS", message=message, place=statement.span, hint=hint)
