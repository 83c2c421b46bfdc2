"""The relations that views read, and the types in which they find them."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace
from types import MappingProxyType

from penstock.catalog.model import Catalog, View
from penstock.catalog.types import plain_type
from penstock.plan.nodes import Scan


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


def read_whole(view: View) -> frozenset[str]:
    """The same without those of which it reads only what comes."""
    tails = {node.relation.lower() for node in view.plan.walk() if isinstance(node, Scan) and node.tail}
    whole = {node.relation.lower() for node in view.plan.walk() if isinstance(node, Scan) and not node.tail}
    return read_by(view) - (tails - whole)


def with_views(catalog: Catalog, views: Iterable[View]) -> Catalog:
    """The catalog with more views, one after the other."""
    for view in views:
        catalog = catalog.with_view(view)
    return catalog


def without_hidden(catalog: Catalog) -> Catalog:
    """The catalog without what standing queries have brought along."""
    if not any(view.is_hidden for view in catalog.views.values()):
        return catalog
    views = {name: view for name, view in catalog.views.items() if not view.is_hidden}
    return replace(catalog, views=MappingProxyType(views))


def with_hidden(catalog: Catalog, whole: Catalog, without: Collection[str] = ()) -> Catalog:
    """The catalog with what standing queries have brought along to another one, but for some in lower case."""
    for view in whole.views.values():
        if view.is_hidden and view.name.lower() not in without:
            catalog = catalog.with_view(view)
    return catalog


def tables_read(catalog: Catalog, name: str, *, tails: bool = True) -> set[str]:
    """The tables that a view reads, through other views too; with or without those of which it reads what comes."""
    found: set[str] = set()
    waiting, seen = [name.lower()], set[str]()
    while waiting:
        view = catalog.views.get(waiting.pop())
        if view is None or view.plan is None or view.name.lower() in seen:
            continue
        seen.add(view.name.lower())
        for relation in read_by(view) if tails else read_whole(view):
            if relation in catalog.views:
                waiting.append(relation)
            else:
                found.add(relation)
    return found
