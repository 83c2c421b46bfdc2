"""DROP of tables, views, functions and types."""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType

from penstock.bind.diagnose import is_another_case, unknown_relation
from penstock.bind.program.existing import refuse_dependants
from penstock.bind.program.views import dependants
from penstock.catalog.model import SYSTEM_TABLES, Catalog
from penstock.errors import did_you_mean
from penstock.sql.complaints import wrong
from penstock.sql.dialects import rules_of
from penstock.sql.statements import Drop


def drop(catalog: Catalog, statement: Drop) -> Catalog:
    """The catalogue without what a DROP names."""
    if statement.what == "function":
        return _drop_function(catalog, statement)
    if statement.what == "type":
        return _drop_type(catalog, statement)
    found = (
        catalog.tables.get(statement.name.lower())
        if statement.what == "table"
        else catalog.views.get(statement.name.lower())
    )
    rules = rules_of(catalog.settings.get("dialect", "penstock"))
    if found is not None and is_another_case(found, statement.name, rules):
        if statement.if_exists:
            return catalog
        raise unknown_relation(statement.name, catalog.relation_names(), statement.name_span)
    if statement.name.lower() in SYSTEM_TABLES:
        message = f"{statement.name!r} is a system relation, which is always there"
        raise wrong(code="WRONG_KIND", message=message, place=statement.name_span, sqlstate="42809")
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
    if statement.cascade:
        catalog = _without_readers(catalog, statement.name)
    refuse_dependants(catalog, statement.name, statement.name_span, "drop")
    return catalog.without(statement.name)


def _without_readers(catalog: Catalog, name: str) -> Catalog:
    """The catalogue without the views that read a relation, directly or through others: the last ones go first."""
    while readers := [item for item in dependants(catalog, name) if item.lower() in catalog.views]:
        last, seen = readers[-1], {name.lower()}
        while further := [item for item in dependants(catalog, last) if item.lower() not in seen]:
            seen.add(last.lower())
            last = further[-1]
        catalog = catalog.without(last)
    return catalog


def _drop_type(catalog: Catalog, statement: Drop) -> Catalog:
    if statement.name.lower() not in catalog.types and not statement.if_exists:
        close = did_you_mean(statement.name, tuple(catalog.types))
        message = f"there is no type {statement.name[:80]!r}"
        raise wrong(code="UNKNOWN_TYPE", message=message, place=statement.name_span, candidates=close)
    return catalog.with_type(statement.name, None)


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
