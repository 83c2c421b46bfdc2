"""What can be said of tables and views without Spark, beyond what the binder says: `penstock check` asks."""

from __future__ import annotations

from functools import partial

from penstock.analysis.declarations import declaration_checks, raise_all
from penstock.catalog.model import Catalog, Table
from penstock.circuit.demands import demand_checks
from penstock.circuit.measured import check_setting
from penstock.sources.api import check_source
from penstock.steps.log import history_span


def check_supported(catalog: Catalog) -> None:
    """Refuse what is declared but cannot work, and properties that are wrong; one error with all that is found."""
    tables = (partial(_check_table, table) for table in catalog.tables.values())
    setting = partial(check_setting, catalog)
    raise_all([*tables, setting, *declaration_checks(catalog), *demand_checks(catalog)])


def check_promises(catalog: Catalog) -> None:
    """Refuse what is promised about columns and state but cannot hold; one error with all that is found."""
    raise_all([*declaration_checks(catalog), *demand_checks(catalog)])


def _check_table(table: Table) -> None:
    if table.history.lower() not in ("all", "none"):
        history_span(table)
    check_source(table)
