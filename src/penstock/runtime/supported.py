"""What can be said of tables and views without Spark, beyond what the binder says: `penstock check` asks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from penstock.analysis.final import final_of
from penstock.catalog.model import Catalog, Table, View
from penstock.errors import PenstockError, SqlError, UnsupportedError
from penstock.runtime.gates import view_lateness
from penstock.runtime.holding import declared_holding
from penstock.runtime.lateness import declared_lateness
from penstock.runtime.log import history_span
from penstock.runtime.sources import check_source


def check_supported(catalog: Catalog) -> None:
    """Refuse what is declared but cannot work, and properties that are wrong; one error with all that is found."""
    _raise_all([*(partial(_check_table, table) for table in catalog.tables.values()), *_of_views(catalog)])


def check_time(catalog: Catalog) -> None:
    """Refuse LATENESS of a view that does not fit its column, and emit_final without a waterline."""
    _raise_all(list(_of_views(catalog)))


def _check_table(table: Table) -> None:
    declared_lateness(table)
    if table.history.lower() not in ("all", "none"):
        history_span(table)
    declared_holding(table)
    check_source(table)


def _of_views(catalog: Catalog) -> Iterator[Callable[[], None]]:
    for view in catalog.views.values():
        yield partial(_check_view, view, catalog)


def _check_view(view: View, catalog: Catalog) -> None:
    view_lateness(view)
    final_of(view, catalog)


def _raise_all(checks: list[Callable[[], None]]) -> None:
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
        raise kind([item for error in errors for item in error.diagnostics])
