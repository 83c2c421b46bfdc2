"""Checks that the promises about columns can hold: LATENESS, AHEAD, WATERMARK and emit_final (B2, B3, B7, B10, B12)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial

from penstock.analysis.bounds import Bound, parse_bound
from penstock.analysis.changelog import retracting
from penstock.analysis.final import final_of
from penstock.catalog.model import Catalog, Column, Table, View
from penstock.catalog.properties import value_place
from penstock.catalog.types import is_numeric, is_temporal
from penstock.errors import Diagnostic, PenstockError, SqlError, UnsupportedError, did_you_mean
from penstock.plan.nodes import Arriving, Filter, Plan, Project, Scan


def declaration_checks(catalog: Catalog) -> Iterator[Callable[[], object]]:
    """One check for each promise, which raises what is wrong with it."""
    for table in catalog.tables.values():
        yield partial(_check_table, table)
    for view in catalog.views.values():
        yield partial(late_view_columns, view)
        yield partial(final_of, view, catalog)
        yield partial(_check_lookups, view, catalog)


def raise_all(checks: Iterable[Callable[[], object]]) -> None:
    """Run the checks, and raise what they have raised as one error."""
    errors: list[PenstockError] = []
    for check in checks:
        try:
            check()
        except PenstockError as error:
            errors.append(error)
    if len(errors) == 1:
        raise errors[0]
    if errors:
        kind = UnsupportedError if all(isinstance(error, UnsupportedError) for error in errors) else SqlError
        sources = {error.source for error in errors}
        raise kind(
            [item for error in errors for item in error.diagnostics], sources.pop() if len(sources) == 1 else None
        )


def _check_table(table: Table) -> None:
    flag = table.properties.get("append_only", "false")
    if flag.lower() not in ("true", "false"):
        message = f"'append_only' = '{flag[:100]}' of {table.name}: expected 'true' or 'false'"
        near = did_you_mean(flag, ("true", "false"))
        raise SqlError(Diagnostic("BAD_PROPERTY", message, value_place(table, "append_only"), near))
    for column in table.columns:
        if column.lateness is not None:
            late_bounds(table.name, column)
    for column in held_columns(table):
        watermark_bound(column)


def _check_lookups(view: View, catalog: Catalog) -> None:
    """Rows that look something up when they come have come for good; of a table the rows may not be deleted then."""
    for node in view.plan.walk() if view.plan is not None and view.showing is None else ():
        found = retracting(node.input, catalog) if isinstance(node, Arriving) else None
        if found is not None and not _is_multiset(node.inputs[0], catalog):
            message = f"rows that look something up when they come may still change: {found.operator}, {found.reason}"
            hint = "look it up for the rows of the stream itself, and group what comes of it"
            raise SqlError(Diagnostic("LOOKUP_CHANGES", message, found.span or view.span, hint=hint), found.source)


def _is_multiset(plan: Plan, catalog: Catalog) -> bool:
    """True for the rows of one table without a key, chosen and computed: they change if one is deleted alone."""
    while isinstance(plan, Project | Filter):
        plan = plan.input
    table = catalog.relation(plan.relation) if isinstance(plan, Scan) else None
    return isinstance(table, Table) and not table.key


def late_bounds(relation: str, column: Column) -> tuple[Bound, Bound | None]:
    """The bounds that LATENESS and AHEAD of a column give; SqlError if they do not fit its type."""
    lateness = column.lateness
    assert lateness is not None  # noqa: S101 - the caller has chosen it for that
    if lateness.rows is not None and not (is_numeric(column.type) or is_temporal(column.type)):
        message = f"LATENESS … ROWS orders rows by {relation}.{column.name}, which is {column.type.upper()}"
        raise SqlError(Diagnostic("BAD_LATENESS", message, lateness.span, hint="it takes numbers, dates and times"))
    bound = Bound() if lateness.rows is not None else parse_bound(lateness.bound, column.type, lateness.span)
    ahead = None if lateness.ahead is None else parse_bound(lateness.ahead, column.type, lateness.span, "AHEAD")
    if ahead is not None and not is_temporal(column.type):
        message = f"AHEAD compares {relation}.{column.name} with the clock, but it is {column.type.upper()}"
        raise SqlError(Diagnostic("BAD_LATENESS", message, lateness.span, hint="AHEAD needs a DATE or a TIMESTAMP"))
    return bound, ahead


def held_columns(table: Table) -> tuple[Column, ...]:
    """The columns with WATERMARK; SqlError on a table with a key."""
    found = tuple(column for column in table.columns if column.watermark is not None)
    if found and table.key:
        message = f"WATERMARK on {table.name}.{found[0].name}: a table with a PRIMARY KEY cannot hold rows back"
        hint = "LATENESS works with a key; to delay, leave the key out"
        raise SqlError(Diagnostic("WATERMARK_WITH_KEY", message, found[0].span, hint=hint))
    return found


def watermark_bound(column: Column) -> Bound:
    """The bound that WATERMARK of a column gives; SqlError if it does not fit its type."""
    return parse_bound(str(column.watermark), column.type, column.span, "WATERMARK")


def late_view_columns(view: View) -> tuple[tuple[int, Column], ...]:
    """The columns of a view that have LATENESS, with their places; what Spark must be asked for is left out.

    Raises SqlError for a column that is not there or does not fit, UnsupportedError within a recursion.
    """
    if view.recursive and view.lateness:
        message = f"LATENESS on the recursive view {view.name} would stand within the recursion"
        hint = f"put it on a view that reads {view.name}"
        raise UnsupportedError(Diagnostic("VIEW_LATENESS", message, view.span, hint=hint))
    found: list[tuple[int, Column]] = []
    for name, lateness in view.lateness.items():
        place = next((at for at, item in enumerate(view.columns) if item.name.lower() == name.lower()), None)
        if place is None:
            raise SqlError(Diagnostic("UNKNOWN_COLUMN", f"view {view.name} has no column {name}", lateness.span))
        column = replace(view.columns[place], lateness=lateness)
        if column.type:
            late_bounds(view.name, column)
            found.append((place, column))
    return tuple(found)
