"""A name that is used before its declaration: whether it is declared further down, or in a circle."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from sqlglot import exp

from penstock.errors import Diagnostic, PenstockError
from penstock.sql.statements import CreateTable, CreateView, Statement


def explained(error: PenstockError, statement: Statement, later: Sequence[Statement]) -> PenstockError:
    """The error of a statement, better explained where it misses what `later` statements declare."""
    declared = {name.lower(): item for item in later if (name := _name(item)) is not None}
    error.diagnostics = tuple(_explained(item, statement, declared) for item in error.diagnostics)
    return error


def _explained(found: Diagnostic, statement: Statement, declared: Mapping[str, Statement]) -> Diagnostic:
    missing = found.message.split("'")[1].lower() if found.code == "UNKNOWN_RELATION" and "'" in found.message else ""
    if missing not in declared:
        return found
    name = _name(statement)
    if name is not None and name.lower() in _read_through(missing, declared):
        message = f"the views {name!r} and {_name(declared[missing])!r} read each other"
        hint = f"DECLARE RECURSIVE VIEW {name} (…) before them makes it recursive"
        return replace(found, code="VIEW_CYCLE", message=message, hint=hint, sqlstate=None, candidates=())
    return replace(found, hint="it is declared further down: move its declaration up", candidates=())


def _name(statement: Statement) -> str | None:
    if isinstance(statement, CreateTable):
        return statement.table.name
    return statement.name if isinstance(statement, CreateView) else None


def _read_through(name: str, declared: Mapping[str, Statement]) -> set[str]:
    """All that a later view reads, through other later views too."""
    found: set[str] = set()
    waiting = [name]
    while waiting:
        statement = declared.get(waiting.pop())
        if isinstance(statement, CreateView):
            read = {table.name.lower() for table in statement.query.find_all(exp.Table)}
            waiting += read - found
            found |= read
    return found
