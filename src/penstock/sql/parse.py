"""Program text to statements; every mistake of the text is reported at once.

    parse(text)  →  (CreateTable, CreateView, Insert, …)

A statement that cannot be read does not hide the mistakes of the next ones: reading goes on behind its semicolon.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import zip_longest
from typing import TypeVar

from sqlglot import exp
from sqlglot.tokenizer_core import Token

from penstock.errors import Diagnostic, InternalError, PenstockError, Span, SqlError, UnsupportedError
from penstock.sql import alter, create, dml, session
from penstock.sql.border import compiling
from penstock.sql.cursor import Cursor
from penstock.sql.diagnose import diagnose, empty_list, too_deep, unknown_statement
from penstock.sql.dialects import rules_of
from penstock.sql.failure import ParseFailure
from penstock.sql.lexer import hints, statements, tokenize
from penstock.sql.limits import NESTING
from penstock.sql.marks import mark
from penstock.sql.nesting import room_for_nesting
from penstock.sql.rules import Rules
from penstock.sql.statement_sets import StatementSets
from penstock.sql.statements import CreateType, Drop, Reset, Set, Statement

Found = TypeVar("Found")
Reader = Callable[[Cursor, str, Span], Statement]

READERS: dict[str, Reader] = {
    "CREATE": create.create,
    "ALTER": alter.alter,
    "DECLARE": create.declare,
    "DROP": create.drop,
    "LATENESS": session.lateness,
    "ADVANCE": session.advance,
    "INSERT": dml.insert,
    "UPSERT": dml.insert,
    "UPDATE": dml.update,
    "DELETE": dml.delete,
    "BEGIN": session.begin,
    "START": session.begin,
    "COMMIT": session.commit,
    "ROLLBACK": session.rollback,
    "KILL": session.kill,
    "SAVE": session.save,
    "SELECT": dml.query,
    "WITH": dml.query,
    "VALUES": dml.query,
    "FROM": dml.query,
    "TABLE": dml.query,
    "(": dml.query,
    "EXPLAIN": session.explain,
    "SHOW": session.show,
    "DESCRIBE": session.describe,
    "DESC": session.describe,
    "SET": session.set_,
    "RESET": session.reset,
}


def parse(
    text: str,
    dialect: str = "penstock",
    types: Mapping[str, str] | None = None,
    nesting: int = NESTING,
) -> tuple[Statement, ...]:
    """The statements of a program; `SET dialect` in it holds from there on, and so do its RESET and CREATE TYPE.

    `types` are those that are declared already: what stands for their names, in lower case. `nesting` is how deep
    operations may be nested, until a SET max_nesting.
    Raises SqlError with a diagnostic for each mistake, UnsupportedError if there is no mistake but something
    that is not built.
    """
    rules = replace(rules_of(dialect), declared=types or {}, nesting=nesting)
    found: list[Statement] = []
    errors: list[PenstockError] = []
    sets = StatementSets()
    written = _tokens(text, rules)
    hinted = _hints(text, rules)
    chunks = statements(written)
    for whole, following in zip_longest(chunks, chunks[1:]):
        end = len(text) if following is None else following[0].start
        try:
            tokens = sets.without_frame(whole)
            if not tokens:
                found = sets.closing(found)
                continue
            statement = _with_hints(sets.within(_statement(tokens, text, rules)), hinted, end)
            found.append(statement)
            rules = _rules_behind(statement, rules)
        except PenstockError as error:
            errors.append(error)
    try:
        sets.finished()
    except PenstockError as error:
        errors.append(error)
    if errors:
        raise _together(errors, text)
    return tuple(found)


def _with_hints(statement: Statement, hinted: list[Diagnostic], end: int) -> Statement:
    """The statement with the warnings for the hints in it, or behind it before the next one."""
    start = statement.span.start
    inside = [item for item in hinted if item.span is not None and start <= item.span.start < end]
    return replace(statement, warnings=(*statement.warnings, *inside)) if inside else statement


def _rules_behind(statement: Statement, rules: Rules) -> Rules:
    """The rules of what stands behind a statement: others behind SET dialect, the usual ones behind RESET."""
    match statement:
        case Set(name="dialect", value=str(value)) if value:
            return replace(rules_of(value, statement.span), declared=rules.declared, nesting=rules.nesting)
        case Set(name="max_nesting", value=str(value)) if value.isdigit():
            return replace(rules, nesting=int(value))
        case Reset(name="max_nesting"):
            return replace(rules, nesting=NESTING)
        case Reset(name=None):
            return replace(rules_of("penstock"), declared=rules.declared, nesting=NESTING)
        case Reset(name="dialect"):
            return replace(rules_of("penstock"), declared=rules.declared, nesting=rules.nesting)
        case CreateType(name=name, kind=kind):
            return replace(rules, declared={**rules.declared, name.lower(): kind})
        case Drop(what="type", name=name):
            kept = {key: kind for key, kind in rules.declared.items() if key != name.lower()}
            return replace(rules, declared=kept)
        case _:
            return rules


def parse_expression(text: str, dialect: str = "penstock") -> exp.Expression:
    """One scalar expression; raises SqlError."""
    return _alone(text, dialect, Cursor.expression)


def parse_query(text: str, dialect: str = "penstock", types: Mapping[str, str] | None = None) -> exp.Expression:
    """One query without its semicolon; raises SqlError."""
    return _alone(text, dialect, Cursor.query, types)


def _alone(
    text: str, dialect: str, read: Callable[[Cursor], exp.Expression], types: Mapping[str, str] | None = None
) -> exp.Expression:
    rules = replace(rules_of(dialect), declared=types or {})
    chunks = statements(_tokens(text, rules))
    _hints(text, rules)
    if len(chunks) != 1:
        message = "nothing is written here" if not chunks else "more than one statement is written here"
        raise SqlError(Diagnostic("SYNTAX_ERROR", message, Span(0, len(text))), text)

    def reading(cursor: Cursor) -> exp.Expression:
        tree = read(cursor)
        cursor.end()
        return tree

    try:
        return _guarded(chunks[0], text, rules, reading)
    except PenstockError as error:
        raise error.with_source(text) from None


def _tokens(text: str, rules: Rules) -> list[Token]:
    try:
        return tokenize(text, rules)
    except PenstockError as error:
        raise error.with_source(text) from None


def _hints(text: str, rules: Rules) -> list[Diagnostic]:
    try:
        return hints(text, rules)
    except PenstockError as error:
        raise error.with_source(text) from None


def _statement(tokens: list[Token], text: str, rules: Rules) -> Statement:
    span = Span(tokens[0].start, tokens[-1].end + 1)

    def reading(cursor: Cursor) -> Statement:
        reader = READERS.get(cursor.peek())
        if reader is None:
            raise unknown_statement(cursor, tuple(READERS))
        statement = reader(cursor, text[span.start : span.end], span)
        return replace(statement, warnings=tuple(cursor.warnings)) if cursor.warnings else statement

    return _guarded(tokens, text, rules, reading)


def _guarded(tokens: list[Token], text: str, rules: Rules, read: Callable[[Cursor], Found]) -> Found:
    """The result of reading one statement; a ParseFailure becomes a SqlError that says what is wrong."""
    whole = Span(tokens[0].start, tokens[-1].end + 1)
    plain = too_deep(tokens) or empty_list(tokens)
    if plain is not None:
        raise SqlError(plain, text)
    marked = mark(tokens, rules)
    with compiling(whole, text):
        try:
            with room_for_nesting():
                return read(Cursor(marked, text, rules))
        except ParseFailure as failure:
            finding = diagnose(marked, failure)
            raise SqlError(finding if finding.span is not None else replace(finding, span=whole), text) from None


def _together(errors: list[PenstockError], text: str) -> PenstockError:
    """One error for all: the mistakes if there are any, else what is not supported."""
    wrong = [error for error in errors if not isinstance(error, UnsupportedError)]
    internal = any(isinstance(error, InternalError) for error in errors)
    kind = InternalError if internal else SqlError if wrong else UnsupportedError
    return kind([diagnostic for error in errors for diagnostic in error.diagnostics], text)
