"""A whole program: its statements in order, the declarations among them in the catalogue."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from penstock.bind.program.declare import declare_one
from penstock.bind.program.declared_later import explained
from penstock.bind.program.one_statement import after
from penstock.bind.program.other_dialects import naming_dialects
from penstock.bind.program.recursion import refuse_incomplete
from penstock.bind.program.transactions import misplaced
from penstock.catalog.model import NOTHING, Catalog
from penstock.errors import Diagnostic, InternalError, PenstockError, SqlError, UnsupportedError
from penstock.sql.border import compiling
from penstock.sql.parse import parse
from penstock.sql.statements import (
    CreateTable,
    CreateView,
    DeclareRecursiveView,
    SetLateness,
    Statement,
    Unparsed,
)


@dataclass(frozen=True)
class Program:
    """Program text, what it declares, and all its statements in order."""

    source: str = ""
    catalog: Catalog = field(default_factory=Catalog)
    statements: tuple[Statement, ...] = ()


def declare(catalog: Catalog, statement: Statement, source: str = "") -> Catalog:
    """The catalogue after a DDL or SET statement; raises SqlError or UnsupportedError and has changed nothing then."""
    try:
        with compiling(statement.span):
            return _sourced(declare_one(catalog, statement), source)
    except PenstockError as error:
        raise error.with_source(source) from None


def _sourced(catalog: Catalog, source: str) -> Catalog:
    """The catalogue with the text that each new view and standing statement stands in."""
    views = {
        name: view if view.source is not None else replace(view, source=source) for name, view in catalog.views.items()
    }
    writers = {name: item if item.source else replace(item, source=source) for name, item in catalog.writers.items()}
    changed = any(views[name] is not catalog.views[name] for name in views)
    changed = changed or any(writers[name] is not catalog.writers[name] for name in writers)
    return replace(catalog, views=views, writers=writers) if changed else catalog


def compile_program(
    text: str,
    dialect: str | None = None,
    registered: frozenset[str] = frozenset(),
    session: Mapping[str, str] = NOTHING,
) -> Program:
    """A program checked as a whole; raises one error with the diagnostics of all its statements.

    DDL is declared in order. LATENESS of a view may stand before the view. INSERT, UPDATE, DELETE and queries are
    checked against what is declared above them, and left in `statements` to be run. `registered` are functions that the
    session of Spark has beside the built-in ones, and `session` those of its settings on which answers depend.
    """
    empty = Catalog(registered=registered, session=session)
    empty = empty if dialect is None else empty.with_setting("dialect", dialect)
    try:
        return _compiled(text, empty)
    except (SqlError, UnsupportedError) as error:
        raise naming_dialects(error, text, empty) from None


def _compiled(text: str, catalog: Catalog) -> Program:
    statements = parse(text, catalog.dialect, catalog.types, catalog.nesting)
    errors: list[PenstockError] = []
    broken: set[str] = set()
    waiting: list[SetLateness] = []
    for at, statement in enumerate(statements, 1):
        if isinstance(statement, SetLateness) and statement.view.lower() not in catalog.views:
            waiting.append(statement)
            continue
        try:
            with compiling(statement.span):
                catalog = after(catalog, statement, text)
            ready = [item for item in waiting if item.view.lower() in catalog.views]
            waiting = [item for item in waiting if item not in ready]
            for item in ready:
                catalog = declare_one(catalog, item)
        except PenstockError as error:
            errors += [] if _follows(error, broken) else [explained(error, statement, statements[at:])]
            broken |= _created(statement)
    errors += [*_unfinished(catalog, waiting, broken), *misplaced(statements)]
    if errors:
        raise _together(errors, text)
    return Program(text, _sourced(catalog, text), statements)


def _created(statement: Statement) -> set[str]:
    """The name that would have been there without the mistake."""
    if isinstance(statement, CreateTable):
        return {statement.table.name.lower()}
    named = isinstance(statement, CreateView | Unparsed | DeclareRecursiveView)
    return {statement.name.lower()} if named else set()  # type: ignore[attr-defined]


def _follows(error: PenstockError, broken: set[str]) -> bool:
    """True for an error that only misses something whose own mistake has been reported."""
    unknown = all(item.code in ("UNKNOWN_RELATION", "UNKNOWN_TABLE") for item in error.diagnostics)
    return unknown and all(any(f"'{name}'" in item.message.lower() for name in broken) for item in error.diagnostics)


def _unfinished(catalog: Catalog, waiting: list[SetLateness], broken: set[str]) -> list[PenstockError]:
    errors: list[PenstockError] = []
    for item in waiting:
        try:
            declare_one(catalog, item)
        except PenstockError as error:
            errors += [] if item.view.lower() in broken else [error]
    try:
        refuse_incomplete(catalog)
    except PenstockError as error:
        errors += [] if broken else [error]
    return errors


def _together(errors: list[PenstockError], text: str) -> PenstockError:
    found: list[Diagnostic] = [item for error in errors for item in error.diagnostics]
    if any(isinstance(error, InternalError) for error in errors):
        return InternalError(found, text)
    kind = UnsupportedError if all(isinstance(error, UnsupportedError) for error in errors) else SqlError
    return kind(found, text)
