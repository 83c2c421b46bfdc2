"""Statements about the pipeline itself: transactions, positions, settings, SHOW, EXPLAIN, LATENESS, ADVANCE."""

from __future__ import annotations

from sqlglot.tokenizer_core import TokenType

from penstock.catalog.settings import TIME_ZONE, known_setting
from penstock.errors import Diagnostic, Span, did_you_mean
from penstock.sql.columns import read_lateness, refuse
from penstock.sql.cursor import Cursor
from penstock.sql.dml import insert
from penstock.sql.failure import ParseFailure
from penstock.sql.statements import (
    Advance,
    Begin,
    Commit,
    Describe,
    Explain,
    KillQuery,
    Reset,
    Rollback,
    SavePosition,
    Set,
    SetLateness,
    Show,
)

SHOWN = (
    *("TABLES", "VIEWS", "COLUMNS", "FUNCTIONS", "SETTINGS", "WATERLINES", "STATE", "QUERIES", "OUTPUTS"),
    "SOURCES",
    *("PIPELINE", "POSITIONS", "CREATE TABLE", "CREATE VIEW"),
)
_WITH_PATTERN = ("TABLES", "VIEWS", "FUNCTIONS")
_NAMESPACES = ("CATALOGS", "DATABASES", "SCHEMAS")
EXPLAIN_OPTIONS = ("trace", "plan", "circuit", "verdict", "changelog", "stream", "json", "analyze")
_FIRST_OPTIONS = {
    "ESTIMATED_COST": "plan",
    "PLAN_ADVICE": "plan",
    "JSON_EXECUTION_PLAN": "json",
    "ANALYZE": "analyze",
    "CHANGELOG": "changelog",
    "CHANGELOG_MODE": "changelog",
    "STREAM": "stream",
}


def begin(cursor: Cursor, text: str, span: Span) -> Begin:
    """BEGIN [TRANSACTION | WORK], START TRANSACTION."""
    cursor.move()
    cursor.accept_any("TRANSACTION", "WORK")
    cursor.end()
    return Begin(text=text, span=span)


def commit(cursor: Cursor, text: str, span: Span) -> Commit:
    """COMMIT [TRANSACTION | WORK]."""
    cursor.move()
    cursor.accept_any("TRANSACTION", "WORK")
    cursor.end()
    return Commit(text=text, span=span)


def rollback(cursor: Cursor, text: str, span: Span) -> Rollback:
    """ROLLBACK [TRANSACTION | WORK]."""
    cursor.move()
    cursor.accept_any("TRANSACTION", "WORK")
    cursor.end()
    return Rollback(text=text, span=span)


def save(cursor: Cursor, text: str, span: Span) -> SavePosition:
    """SAVE POSITION name."""
    cursor.expect("SAVE", "POSITION")
    name, name_span = cursor.name("a position")
    cursor.end()
    return SavePosition(text=text, span=span, name=name, name_span=name_span)


def kill(cursor: Cursor, text: str, span: Span) -> KillQuery:
    """KILL QUERY name."""
    cursor.expect("KILL")
    cursor.expect("QUERY")
    name, name_span = cursor.qualified_name("a standing query")
    cursor.end()
    return KillQuery(text=text, span=span, name=name, name_span=name_span)


def lateness(cursor: Cursor, text: str, span: Span) -> SetLateness:
    """LATENESS view.column e."""
    cursor.expect("LATENESS")
    (view, view_span), (column, column_span) = _view_column(cursor)
    bound = read_lateness(cursor)
    cursor.end()
    return SetLateness(
        text=text,
        span=span,
        view=view,
        column=column,
        lateness=bound,
        view_span=view_span,
        column_span=column_span,
    )


def advance(cursor: Cursor, text: str, span: Span) -> Advance:
    """ADVANCE table.column TO e."""
    cursor.expect("ADVANCE")
    (table, table_span), (column, column_span) = _view_column(cursor)
    cursor.expect("TO")
    value = cursor.expression()
    cursor.end()
    return Advance(
        text=text,
        span=span,
        table=table,
        column=column,
        value=value,
        table_span=table_span,
        column_span=column_span,
    )


def _view_column(cursor: Cursor) -> tuple[tuple[str, Span], tuple[str, Span]]:
    relation = cursor.name("a table or view")
    if not cursor.accept("."):
        cursor.fail(f"expected . and a column after {relation[0]}")
    return relation, cursor.name("a column")


def explain(cursor: Cursor, text: str, span: Span) -> Explain:
    """EXPLAIN [PLAN FOR] [ANALYZE | CHANGELOG | STREAM, …] [(option, …)] query | name | INSERT INTO t query."""
    cursor.expect("EXPLAIN")
    cursor.accept("PLAN", "FOR")
    # A view may be called analyze.
    alone = cursor.index + 1 == len(cursor.tokens)
    first = None if alone else cursor.accept_any(*_FIRST_OPTIONS)
    options: tuple[str, ...] = () if first is None else (_FIRST_OPTIONS[first],)
    while first is not None and cursor.accept(","):
        further = cursor.accept_any(*_FIRST_OPTIONS)
        if further is None:
            cursor.fail(f"expected one of {', '.join(_FIRST_OPTIONS)}")
        options += (_FIRST_OPTIONS[str(further)],)
    if cursor.peek() == "(" and not cursor.at_query():
        options += tuple(cursor.listed(lambda: _option(cursor), "the options"))
    if cursor.peek() == "STATEMENT" and cursor.peek(1) == "SET":
        refuse(cursor, "EXPLAIN STATEMENT SET statements", "EXPLAIN INSERT INTO t SELECT … for each of them")
    if cursor.peek() == "INSERT" and cursor.peek(1) == "INTO":
        source = insert(cursor, text, span).source
        return Explain(text=text, span=span, options=options, target=None, query=source)
    if cursor.at_query():
        tree = cursor.query()
        cursor.end()
        return Explain(text=text, span=span, options=options, target=None, query=tree)
    cursor.accept_any("VIEW", "TABLE")
    target, target_span = cursor.qualified_name("a view or a query")
    cursor.end()
    return Explain(text=text, span=span, options=options, target=target, query=None, target_span=target_span)


def _option(cursor: Cursor) -> str:
    token, here = cursor.token, cursor.here()
    name = cursor.name("an option")[0].lower()
    if name not in EXPLAIN_OPTIONS:
        raise ParseFailure(
            token,
            Diagnostic(
                "UNKNOWN_OPTION",
                f"EXPLAIN has no option {name.upper()}",
                here,
                candidates=did_you_mean(name, EXPLAIN_OPTIONS),
                hint=f"the options are {', '.join(option.upper() for option in EXPLAIN_OPTIONS)}",
            ),
        )
    return name


def show(cursor: Cursor, text: str, span: Span) -> Show:
    """SHOW TABLES | VIEWS | COLUMNS [FROM name] | … | CREATE TABLE name | CREATE VIEW name; `SHOWN` has them all."""
    cursor.expect("SHOW")
    for what in SHOWN:
        if cursor.accept(*what.split()):
            named = " " in what or (what == "COLUMNS" and cursor.accept_any("FROM", "IN") is not None)
            name, name_span = cursor.qualified_name("a name") if named else (None, None)
            like = cursor.string("a pattern") if what in _WITH_PATTERN and cursor.accept("LIKE") else None
            cursor.end()
            return Show(text=text, span=span, what=what.lower(), name=name, name_span=name_span, like=like)
    if cursor.accept("JOBS"):
        cursor.end()
        return Show(text=text, span=span, what="queries")
    if cursor.peek() in _NAMESPACES or (cursor.peek() == "CURRENT" and cursor.peek(1) + "S" in _NAMESPACES):
        words = f"SHOW {cursor.peek()}" if cursor.peek() in _NAMESPACES else f"SHOW CURRENT {cursor.peek(1)}"
        refuse(
            cursor, f"{words} statements", "a pipeline is one namespace: SHOW TABLES and SHOW VIEWS list what is in it"
        )
    raise ParseFailure(
        cursor.token,
        Diagnostic(
            "SYNTAX_ERROR",
            f"there is nothing called {cursor.peek() or '…'} to show",
            cursor.here(),
            candidates=did_you_mean(cursor.peek(), SHOWN),
            hint=f"what can be shown is {', '.join(SHOWN)}",
        ),
    )


def describe(cursor: Cursor, text: str, span: Span) -> Describe:
    """DESCRIBE [EXTENDED] [TABLE | VIEW] name."""
    cursor.move()
    if cursor.peek() == "EXTENDED" and cursor.index + 1 < len(cursor.tokens):
        cursor.move()
    cursor.accept_any("TABLE", "VIEW", "STREAM")
    name, name_span = cursor.qualified_name("a table or view")
    cursor.end()
    return Describe(text=text, span=span, name=name, name_span=name_span)


def set_(cursor: Cursor, text: str, span: Span) -> Set:
    """SET name = value, SET TIME ZONE z, SET name, SET."""
    cursor.expect("SET")
    if cursor.accept("TIME", "ZONE"):
        zone, place = _rest(cursor, "a time zone")
        return Set(text=text, span=span, name=TIME_ZONE, value=zone, value_span=place)
    if cursor.token is None:
        return Set(text=text, span=span, name=None, value=None)
    name = _setting(cursor)
    if cursor.token is None:
        return Set(text=text, span=span, name=name, value=None)
    if not (cursor.accept("=") or cursor.accept("TO")):
        cursor.fail(f"expected = after the setting {name}")
    value, place = _rest(cursor, "a value")
    return Set(text=text, span=span, name=name, value=value, value_span=place)


def reset(cursor: Cursor, text: str, span: Span) -> Reset:
    """RESET [name]."""
    cursor.expect("RESET")
    if cursor.token is None or cursor.accept("ALL"):
        cursor.end()
        return Reset(text=text, span=span, name=None)
    name = TIME_ZONE if cursor.accept("TIME", "ZONE") else _setting(cursor)
    cursor.end()
    return Reset(text=text, span=span, name=name)


def _setting(cursor: Cursor) -> str:
    """The setting that is named here, as it is kept."""
    token, start = cursor.token, cursor.index
    if token is not None and token.token_type is TokenType.STRING:
        name = cursor.string("a setting")
    else:
        name = cursor.name("a setting")[0]
        while cursor.peek() in {".", "-"}:
            sign = cursor.peek()
            cursor.accept(sign)
            name += sign + cursor.name("a setting")[0]
    return known_setting(name, cursor.since(start), cursor.rules.idle_settings)


def _rest(cursor: Cursor, what: str) -> tuple[str, Span]:
    """The remaining text and its place; a single string stands for its value."""
    token, start = cursor.token, cursor.index
    if token is None:
        cursor.fail(f"expected {what}")
    cursor.move(len(cursor.tokens) - start)
    assert token is not None  # noqa: S101 - fail() raises
    alone = cursor.index - start == 1
    return str(token.text) if alone else cursor.text_since(start), cursor.since(start)
