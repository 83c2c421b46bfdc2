"""One statement of a program: declared in the catalogue, or checked against it."""

from __future__ import annotations

from typing import Any

from penstock.bind.emission.standing import any_waterline, bind_standing, stands
from penstock.bind.program.declare import DDL, declare_one
from penstock.bind.program.dml import advanced_column, check_dml
from penstock.bind.program.queries import bind_named, check_asked
from penstock.bind.program.writers import declare_insert, stands_as_statement
from penstock.bind.taking_in import taking_in_view
from penstock.catalog.model import Catalog
from penstock.sql.points import without_past
from penstock.sql.statements import Advance, Delete, Explain, Insert, Query, Statement, Update


def after(catalog: Catalog, statement: Statement, text: str) -> Catalog:
    """The catalogue after a statement of a text; raises what is wrong with it."""
    if isinstance(statement, DDL):
        return declare_one(catalog, statement)
    match statement:
        case Query(tree=tree):
            _check_query(tree, catalog, text)
        case Explain(query=tree) if tree is not None:
            _check_query(tree, catalog, text)
        case Advance():
            advanced_column(catalog, statement)
        case Insert() if stands_as_statement(statement, catalog):
            return declare_insert(catalog, statement, text)
        case Insert() | Update() | Delete():
            check_dml(statement, catalog, text)
    return catalog


def _check_query(tree: Any, catalog: Catalog, text: str) -> None:
    if stands(tree, catalog):
        bind_standing(tree, catalog, text, "query", any_waterline)
    else:
        check_asked(tree, catalog)
        bind_named(without_past(tree), catalog, text, taking_in=taking_in_view("(query)", catalog))
