"""Checks of tables and views that need no Spark, beyond those of the binder: `penstock check` asks for them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial

from penstock.analysis.declarations import declaration_checks, raise_all
from penstock.analysis.written import writing_checks
from penstock.catalog.model import PASSED, Catalog, Table, View
from penstock.catalog.properties import CONNECTOR
from penstock.catalog.reserved import VERSIONS
from penstock.circuit.demands import demand_checks
from penstock.errors import DataError, Diagnostic, SqlError, UnsupportedError
from penstock.outputs.connectors import output_checks
from penstock.outputs.sink import is_sink
from penstock.pipeline.reads import read_by
from penstock.plan.expressions import plan_reads_clock
from penstock.sources.api import check_source
from penstock.steps.intake.forgetting import forgets
from penstock.steps.log import history_span


def check_supported(catalog: Catalog) -> None:
    """Refuse what is declared but cannot work, and properties that are wrong; one error with all that is found."""
    tables = (partial(_check_table, table, catalog) for table in catalog.tables.values())
    declared = (*declaration_checks(catalog), *demand_checks(catalog), *writing_checks(catalog))
    raise_all([*tables, *declared, *output_checks(catalog)])


def check_followed(catalog: Catalog, *, once: bool) -> None:
    """Refuse to follow a program that nothing comes into: no table has a connector, and no view reads the clock.

    The clock is nothing to follow until the input is used up (`once`).
    """
    if has_sources(catalog) or (not once and follows_clock(catalog)):
        return
    message = "no table has a connector, so there is nothing to follow"
    hint = "WITH ('connector' = 'files', 'path' = …) behind the columns of a table names its source"
    raise DataError(Diagnostic("NO_SOURCE", message, hint=hint))


def has_sources(catalog: Catalog) -> bool:
    """True if rows come into some table by a connector."""
    return any(is_source(table, catalog) for table in catalog.tables.values())


def reads_sources(names: Iterable[str], catalog: Catalog) -> bool:
    """True if rows come by a connector into one of some relations, also through views and what writes into it."""
    waiting, seen = [name.lower() for name in names], set[str]()
    while waiting:
        name = waiting.pop().removeprefix(VERSIONS)
        table, view = catalog.tables.get(name), catalog.views.get(name)
        if name in seen or (table is None and view is None):
            continue
        if table is not None and is_source(table, catalog):
            return True
        seen.add(name)
        waiting += read_by(view) if view is not None and view.plan is not None else ()
        waiting += [] if table is None else [read for item in catalog.writers_into(name) for read in item.reads]
    return False


def is_source(table: Table, catalog: Catalog) -> bool:
    """True for a table whose connector gives rows, and does not take them."""
    return CONNECTOR in table.properties and not is_sink(table, catalog)


def refuse_widened_outputs(before: Catalog, catalog: Catalog, names: Iterable[str]) -> None:
    """UnsupportedError for a table that gains columns, named in lower case, and whose rows a target has already."""
    raise_all([partial(_refuse_output, before, catalog.tables[name]) for name in names])


def _refuse_output(before: Catalog, table: Table) -> None:
    if is_sink(before.tables[table.name.lower()], before):
        message = f"table {table.name} is an output, whose target has the columns that it began with"
        hint = "declare another table with another target, and have a statement write into it"
        raise UnsupportedError(Diagnostic("REPLACED_OUTPUT", message, table.span, hint=hint))


def follows_clock(catalog: Catalog) -> bool:
    """True if some view changes with the clock alone."""
    plans = (view.plan for view in catalog.views.values() if view.plan is not None)
    return any(plan_reads_clock(node) for plan in plans for node in plan.walk())


def check_promises(catalog: Catalog) -> None:
    """Refuse what is promised about columns and state but cannot hold; one error with all that is found."""
    raise_all([*declaration_checks(catalog), *demand_checks(catalog)])


def check_content(catalog: Catalog, name: str) -> None:
    """SqlError for a view whose content cannot be told: neither it nor what it is made of is kept."""
    view = catalog.views[name.lower()]
    table = next((table for table in _made_of(catalog, view) if _keeps_nothing(table)), None)
    if table is None:
        return
    kind = "stream" if table.stream else "table"
    message = f"the content of view {view.name} cannot be told at the end: {kind} {table.name} keeps no history"
    hint = f"make {view.name} MATERIALIZED; or leave out 'history' = 'none'"
    raise SqlError(Diagnostic("NO_HISTORY", message, view.span, hint=hint), view.source)


def _keeps_nothing(table: Table) -> bool:
    return table.history.lower() == "none" and (not table.key or forgets(table))


def _made_of(catalog: Catalog, view: View) -> Iterator[Table]:
    """The tables whose rows are read where the content of a view is asked for."""
    if view.kind in ("materialized", PASSED) or view.lateness or view.plan is None:
        return
    for name in sorted(read_by(view)):
        if name in catalog.tables:
            yield catalog.tables[name]
        elif name in catalog.views and name != view.name.lower():
            yield from _made_of(catalog, catalog.views[name])


def _check_table(table: Table, catalog: Catalog) -> None:
    if table.history.lower() not in ("all", "none"):
        history_span(table)
    if is_source(table, catalog):
        check_source(table)
