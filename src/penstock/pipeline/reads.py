"""The relations that views read, and the types in which they find them."""

from __future__ import annotations

from dataclasses import replace

from penstock.catalog.model import Catalog, View
from penstock.catalog.types import plain_type


def as_spark_sees(catalog: Catalog) -> Catalog:
    """The catalog with the types in which rows are carried: Spark refuses VARCHAR in a DataFrame."""
    for table in catalog.tables.values():
        columns = tuple(replace(column, type=plain_type(column.type)) for column in table.columns)
        if columns != table.columns:
            catalog = catalog.with_table(replace(table, columns=columns))
    return catalog


def read_by(view: View) -> frozenset[str]:
    """The relations that a view reads itself."""
    found: frozenset[str] = view.plan.scanned
    return found


def tables_read(catalog: Catalog, name: str) -> set[str]:
    """The tables that a view reads, through other views too."""
    found: set[str] = set()
    waiting, seen = [name.lower()], set[str]()
    while waiting:
        view = catalog.views.get(waiting.pop())
        if view is None or view.plan is None or view.name.lower() in seen:
            continue
        seen.add(view.name.lower())
        for relation in read_by(view):
            if relation in catalog.views:
                waiting.append(relation)
            else:
                found.add(relation)
    return found
