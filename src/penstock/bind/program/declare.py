"""DDL and SET: each statement checked against the catalogue and added to it."""

from __future__ import annotations

from dataclasses import fields, replace
from types import MappingProxyType

from sqlglot import exp

from penstock.bind.diagnose import unknown_column, unknown_relation
from penstock.bind.program.add_columns import declare_columns
from penstock.bind.program.circles import refuse_circles
from penstock.bind.program.create_function import declare_function
from penstock.bind.program.create_table import declare_table
from penstock.bind.program.drop import drop
from penstock.bind.program.existing import refuse_existing
from penstock.bind.program.purity import refuse_impure
from penstock.bind.program.recursion import close_components
from penstock.bind.program.set_properties import declare_properties
from penstock.bind.program.unparsed import unparsed_view
from penstock.bind.program.views import in_order, replaced_view, views_of
from penstock.bind.program.writers import declare_into
from penstock.catalog.model import SYSTEM_TABLES, Catalog, View
from penstock.catalog.settings import DIALECT, TIME_ZONE, check_setting
from penstock.catalog.zones import near_zones, zone_named
from penstock.errors import SqlError, UnsupportedError
from penstock.plan.refinement import check_flink
from penstock.sql.complaints import wrong
from penstock.sql.statements import (
    AddColumns,
    CreateFunction,
    CreateTable,
    CreateType,
    CreateView,
    DeclareRecursiveView,
    Drop,
    Reset,
    Set,
    SetLateness,
    SetProperties,
    Statement,
    Unparsed,
)

DDL = (
    CreateTable,
    AddColumns,
    SetProperties,
    CreateView,
    Unparsed,
    DeclareRecursiveView,
    CreateFunction,
    CreateType,
    Drop,
    SetLateness,
    Set,
    Reset,
)


def declare_one(catalog: Catalog, statement: Statement) -> Catalog:
    """The catalogue after one DDL statement; raises SqlError or UnsupportedError and has changed nothing then."""
    match statement:
        case CreateTable():
            return declare_table(catalog, statement)
        case AddColumns():
            return declare_columns(catalog, statement)
        case SetProperties():
            return declare_properties(catalog, statement)
        case CreateView():
            return _view(catalog, statement)
        case Unparsed():
            return _unparsed(catalog, statement)
        case DeclareRecursiveView():
            return _recursive(catalog, statement)
        case CreateFunction():
            return declare_function(catalog, statement)
        case CreateType():
            return _type(catalog, statement)
        case Drop():
            return drop(catalog, statement)
        case SetLateness():
            return _lateness(catalog, statement)
        case Set():
            return _set(catalog, statement)
        case Reset():
            return (
                replace(catalog, settings=MappingProxyType({}))
                if statement.name is None
                else catalog.with_setting(statement.name, None)
            )
        case _:
            message = f"{type(statement).__name__} declares nothing"
            raise wrong(code="NOT_A_DECLARATION", message=message, place=statement.span)


def _set(catalog: Catalog, statement: Set) -> Catalog:
    name, value = statement.name, statement.value
    if name is None or value is None:
        return catalog
    if name == TIME_ZONE and value and zone_named(value) is None:
        message, hint = f"there is no time zone {value[:100]!r}", "as in 'Europe/Rome' or '+05:30'"
        place, near = statement.value_span or statement.span, near_zones(value)
        raise wrong(code="BAD_TIME_ZONE", message=message, place=place, candidates=near, hint=hint)
    check_setting(name, value, statement.value_span or statement.span)
    check_flink(name, value, statement.value_span or statement.span)
    return catalog.with_setting(name, value.lower() if name == DIALECT else value)


def _view(catalog: Catalog, statement: CreateView) -> Catalog:
    old = catalog.views.get(statement.name.lower())
    if statement.if_not_exists and catalog.relation(statement.name) is not None:
        return catalog
    waiting = old is not None and old.recursive and old.plan is None
    refuse_existing(catalog, statement.name, statement.name_span, or_replace=statement.or_replace or waiting)
    if statement.name.lower() in catalog.tables:
        message = f"{statement.name!r} is a table; a view cannot replace it"
        raise wrong(code="ALREADY_EXISTS", message=message, place=statement.name_span, sqlstate="42P07")
    refuse_impure(statement.query, catalog, "a view")
    *passed, view = _bound_or_whole(catalog, statement)
    view = replace(view, warnings=(*statement.warnings, *view.warnings))
    catalog = catalog.with_passed(view.name, passed)
    if old is None:  # nobody can read it yet, so it closes no cycle
        found = catalog.with_view(view)
    else:
        found = close_components(replaced_view(catalog.without_writer(old.name), old, view, statement.name_span), view)
        refuse_circles(found, statement.name_span)
        found = in_order(found)
    return found if statement.into is None else declare_into(found, statement, "")


def _bound_or_whole(catalog: Catalog, statement: CreateView) -> tuple[View, ...]:
    """The view behind what passes in it.

    Where only Spark knows the columns that a `*` stands for, Spark gets the query as it is written.
    """
    try:
        return views_of(catalog, statement)
    except UnsupportedError as error:
        plain = not statement.column_names and statement.into is None
        plain = plain and catalog.settings.get("dialect", "penstock") == "penstock"
        if not plain or error.diagnostics[0].code != "STAR_OVER_RECOMPUTED":
            raise
        reason = error.diagnostics[0].message.removeprefix("not supported: ")
        whole = {item.name: getattr(statement, item.name) for item in fields(Unparsed) if hasattr(statement, item.name)}
        return (unparsed_view(catalog, Unparsed(**whole, reason=reason)),)


def _unparsed(catalog: Catalog, statement: Unparsed) -> Catalog:
    if statement.if_not_exists and catalog.relation(statement.name) is not None:
        return catalog
    refuse_existing(catalog, statement.name, statement.name_span, or_replace=statement.or_replace)
    return catalog.with_view(replace(unparsed_view(catalog, statement), warnings=statement.warnings))


def _type(catalog: Catalog, statement: CreateType) -> Catalog:
    if statement.name.lower() in catalog.types and not statement.or_replace:
        message, hint = f"there is a type {statement.name!r} already", "CREATE OR REPLACE TYPE replaces it"
        raise wrong(code="ALREADY_EXISTS", message=message, place=statement.name_span, hint=hint)
    return catalog.with_type(statement.name, statement.kind)


def _recursive(catalog: Catalog, statement: DeclareRecursiveView) -> Catalog:
    refuse_existing(catalog, statement.name, statement.span, or_replace=False)
    empty = exp.Select()
    view = View(statement.name, "", empty, statement.columns, None, recursive=True, span=statement.span)
    return catalog.with_view(view)


def _lateness(catalog: Catalog, statement: SetLateness) -> Catalog:
    view = catalog.views.get(statement.view.lower())
    if view is None:
        raise _no_view(catalog, statement)
    names = tuple(item.name for item in view.columns)
    name = next((item for item in names if item.lower() == statement.column.lower()), None)
    if name is None:
        raise unknown_column(statement.column, names, statement.column_span)
    if name.lower() in view.lateness:
        message = f"{view.name}.{name} has two declarations of LATENESS"
        raise wrong(code="BAD_LATENESS", message=message, place=statement.span, hint="leave one of them out")
    lateness = MappingProxyType({**view.lateness, name.lower(): statement.lateness})
    return catalog.with_view(replace(view, lateness=lateness))


def _no_view(catalog: Catalog, statement: SetLateness) -> SqlError:
    if statement.view.lower() in SYSTEM_TABLES:
        message = f"{statement.view} is a system relation, whose columns take no LATENESS"
        return wrong(code="BAD_LATENESS", message=message, place=statement.view_span)
    table = catalog.tables.get(statement.view.lower())
    if table is None:
        return unknown_relation(statement.view, catalog.relation_names(), statement.view_span)
    message = f"{table.name} is a table; the statement LATENESS is for the columns of views"
    hint = f"write LATENESS behind the column, in CREATE TABLE {table.name}"
    return wrong(code="BAD_LATENESS", message=message, place=statement.view_span, hint=hint)
