"""The other dialects that would take a statement that is refused: looked up once something is wrong.

The text is read anew, statement by statement. One that fails is tried in each other dialect, over what stands above it,
and if need be over its tables as that dialect declares them. What one takes holds for the statements behind it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from penstock.bind.program.one_statement import after
from penstock.catalog.model import Catalog
from penstock.errors import Diagnostic, PenstockError, Span
from penstock.sql.dialects import DIALECTS
from penstock.sql.lexer import statements, tokenize
from penstock.sql.parse import parse
from penstock.sql.statements import Set

# What is wrong in every dialect, or says itself which one is meant.
_ANYWHERE = frozenset(
    {
        "UNKNOWN_DIALECT",
        "ALREADY_EXISTS",
        "NOT_A_CHANGE",
        "NOT_A_QUERY",
        "DECLARED_TWICE",
        "MISSING_PROPERTY",
        "UNKNOWN_PROPERTY",
        "BAD_PROPERTY",
        "DUPLICATE_PROPERTY",
    }
)


def naming_dialects(error: PenstockError, text: str, catalog: Catalog) -> PenstockError:
    """The error of a text over a catalogue; each diagnostic names the dialects that would take its statement."""
    if error.source not in {None, "", text} or all(item.code in _ANYWHERE for item in error.diagnostics):
        return error
    found = list(_taken(text, catalog))
    if found:
        error.diagnostics = tuple(_named(item, found) for item in error.diagnostics)
    return error


def _named(diagnostic: Diagnostic, found: list[tuple[Span, list[str]]]) -> Diagnostic:
    place = diagnostic.span
    inside = [names for span, names in found if place is not None and span.start <= place.start < span.end]
    if not inside or diagnostic.code in _ANYWHERE:
        return diagnostic
    said = _said(inside[0])
    return replace(diagnostic, hint=f"{diagnostic.hint}; {said}" if diagnostic.hint else said)


def _said(names: list[str]) -> str:
    *others, last = names
    listed = f"dialects {', '.join(others)} and {last} take" if others else f"dialect {last} takes"
    return f"{listed} this statement: SET dialect = '{names[0]}'"


def _taken(text: str, catalog: Catalog) -> Iterator[tuple[Span, list[str]]]:
    """The statements that the catalogue's own dialect refuses and others take, with these."""
    for span in _statements(text, _dialect_of(catalog)):
        part, own = text[span.start : span.end], _dialect_of(catalog)
        known = _after(part, own, catalog)
        if known is not None:
            catalog = known
            continue
        others = {name: _with_tables(part, name, catalog) for name in DIALECTS if name != own}
        names = [name for name, known in others.items() if known is not None]
        if names:
            yield span, names
            catalog = (others[names[0]] or catalog).with_setting("dialect", own)


def _dialect_of(catalog: Catalog) -> str:
    return catalog.settings.get("dialect", "penstock").lower()


def _statements(text: str, dialect: str) -> list[Span]:
    """The places of the statements; of a text with signs that the dialect cannot read, those of one that can."""
    for name in (dialect, *DIALECTS):
        try:
            chunks = statements(tokenize(text, DIALECTS[name]))
        except PenstockError:
            continue
        return [Span(tokens[0].start, tokens[-1].end + 1) for tokens in chunks]
    return []


def _after(part: str, dialect: str, catalog: Catalog) -> Catalog | None:
    """The catalogue after statements in a dialect; None if it refuses them."""
    try:
        for statement in parse(part, dialect, catalog.types, catalog.nesting):
            chosen = catalog.with_setting("dialect", dialect)
            catalog = after(chosen, statement, part)
            if isinstance(statement, Set) and statement.name == "dialect":
                dialect = _dialect_of(catalog)
    except PenstockError:
        return None
    return catalog


def _with_tables(part: str, dialect: str, catalog: Catalog) -> Catalog | None:
    """The catalogue after statements in another dialect, over the tables as they are, or as it would declare them."""
    found = _after(part, dialect, catalog)
    if found is not None:
        return found
    over = replace(catalog, tables={})
    for name, table in catalog.tables.items():
        declared = _after(table.text, dialect, replace(over, views={})) if table.text else None
        kept = table if declared is None else declared.tables.get(name, table)
        over = replace(over, tables={**over.tables, name: kept})
    return None if over.tables == catalog.tables else _after(part, dialect, over)
