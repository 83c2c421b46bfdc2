"""INSERT, UPDATE, DELETE and queries."""

from __future__ import annotations

from collections.abc import Iterable

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from penstock.errors import Diagnostic, Span
from penstock.sql.columns import read_placed_names, refuse
from penstock.sql.cursor import Cursor
from penstock.sql.failure import ParseFailure
from penstock.sql.standing import standing_delete, standing_update
from penstock.sql.statements import Delete, Insert, Query, Update
from penstock.sql.text import span_of

_CONFLICTS = ("DEDUPLICATE", "UPDATE", "NOTHING", "ERROR")


def insert(cursor: Cursor, text: str, span: Span) -> Insert:
    """INSERT INTO t [(c, …)] VALUES … | query [ON CONFLICT [(k, …)] DO …]; UPSERT INTO replaces by the key."""
    upsert = cursor.accept("UPSERT")
    if not upsert:
        cursor.expect("INSERT")
    if cursor.peek() == "OVERWRITE":
        refuse(cursor, "INSERT OVERWRITE statements", "DELETE FROM the table first")
    cursor.expect("INTO")
    cursor.accept("TABLE")
    table, table_span = cursor.qualified_name("a table")
    left_out = _left_out(cursor)
    named = not left_out and cursor.peek() == "(" and not _query_in_parentheses(cursor)
    columns = read_placed_names(cursor) if named else ()
    _distinct(columns, cursor)
    by_name = not columns and not left_out and cursor.accept("BY", "NAME")
    if cursor.peek() in {"DEFAULT", "SET", "BY"}:
        refuse(cursor, f"INSERT … {cursor.peek()} statements", "list the values: INSERT INTO t (c) VALUES (1)")
    if not cursor.at_query():
        cursor.fail("expected VALUES or a query")
    source = cursor.query()
    conflict, keys, conflict_span = _conflict(cursor)
    cursor.end()
    if isinstance(source, exp.Values):
        _refuse_dressed(source, by_name=by_name)
        _same_width(source)
    return Insert(
        text=text,
        span=span,
        table=table,
        table_span=table_span,
        columns=tuple(name for name, _ in columns),
        source=source,
        by_name=by_name,
        column_spans=tuple(place for _, place in columns),
        upsert=upsert,
        conflict=conflict,
        conflict_span=conflict_span,
        conflict_keys=keys,
        left_out=left_out,
    )


def _left_out(cursor: Cursor) -> tuple[tuple[str, Span], ...]:
    """The names of `(* EXCEPT b)` and `(* EXCEPT (b, c))`, as Timeplus has them."""
    if not cursor.rules.event_times or not cursor.accept("(", "*", "EXCEPT"):
        return ()
    found = read_placed_names(cursor)
    _distinct(found, cursor)
    cursor.expect(")")
    return found


def _conflict(cursor: Cursor) -> tuple[str | None, tuple[tuple[str, Span], ...], Span | None]:
    """The word behind ON CONFLICT [(k, …)] DO, the columns, and the place of it all."""
    start = cursor.index
    if not cursor.accept("ON", "CONFLICT"):
        return None, (), None
    keys = read_placed_names(cursor) if cursor.peek() == "(" else ()
    cursor.expect("DO")
    found = cursor.accept_any(*_CONFLICTS)
    if found is None:
        cursor.fail(f"expected {', '.join(_CONFLICTS[:-1])} or {_CONFLICTS[-1]}")
    return found, keys, cursor.since(start)


def _query_in_parentheses(cursor: Cursor) -> bool:
    return cursor.at_query()


def _distinct(columns: Iterable[tuple[str, Span]], cursor: Cursor) -> None:
    seen: set[str] = set()
    for column, place in columns:
        name = column if cursor.rules.case_sensitive else column.lower()
        if name in seen:
            raise ParseFailure(None, Diagnostic("DUPLICATE_COLUMN", f"the column {column} is listed twice", place))
        seen.add(name)


def _refuse_dressed(values: exp.Values, *, by_name: bool) -> None:
    """Stop at what stands behind the rows of an INSERT and changes none of them; names of columns are of BY NAME."""
    for key in ("alias", "pivots", "sample"):
        found = values.args.get(key)
        if found and not (key == "alias" and by_name):
            place = span_of(found) if isinstance(found, exp.Expression) else _place(values)
            message, hint = "nothing stands behind the rows of VALUES in an INSERT", "separate rows by commas"
            raise ParseFailure(None, Diagnostic("SYNTAX_ERROR", message, place, hint=hint))


def _same_width(values: exp.Values) -> None:
    rows = values.expressions
    widths = {len(row.expressions) if isinstance(row, exp.Tuple) else 1 for row in rows}
    if len(widths) > 1:
        raise ParseFailure(
            None, Diagnostic("ROW_WIDTH", "the rows of VALUES have different numbers of values", _place(values))
        )


def _place(tree: exp.Expression) -> Span | None:

    return span_of(tree)


def update(cursor: Cursor, text: str, span: Span) -> Update | Insert:
    """UPDATE t [[AS] a] SET [a.]c = e, … [FROM (query) [AS] b] [WHERE condition]; over a stream it stands."""
    cursor.expect("UPDATE")
    table, table_span = cursor.qualified_name("a table")
    alias = _alias(cursor, "SET")
    cursor.expect("SET")
    known = {table.lower(), (alias or table).lower()}
    assignments = [_assignment(cursor, known)]
    while cursor.accept(","):
        assignments.append(_assignment(cursor, known))
    _distinct(((name, place) for name, place, _ in assignments), cursor)
    source, source_span = _source(cursor)
    where = _where(cursor)
    found = Update(
        text=text,
        span=span,
        table=table,
        table_span=table_span,
        assignments=tuple((name, value) for name, _, value in assignments),
        where=where,
        alias=alias,
        column_spans=tuple(place for _, place, _ in assignments),
    )
    return standing_update(found, source, source_span) or found


def _source(cursor: Cursor) -> tuple[exp.Subquery | None, Span | None]:
    """The query of UPDATE … FROM (query) [AS] b."""
    start = cursor.index
    if not cursor.accept("FROM"):
        return None, None
    if not cursor.at_query():
        cursor.fail("expected a query in parentheses after FROM")
    query = cursor.query()
    alias = exp.to_identifier(_alias(cursor, "WHERE") or "", quoted=True)
    return exp.Subquery(this=query.unnest(), alias=exp.TableAlias(this=alias)), cursor.since(start)


def _alias(cursor: Cursor, following: str) -> str | None:
    """Another name for the table in the rest of the statement."""
    if not cursor.accept("AS"):
        token = cursor.token
        if token is None or cursor.peek() == following:
            return None
        if token.token_type not in {TokenType.VAR, TokenType.IDENTIFIER}:
            cursor.fail(f"expected {following}")
    name, _ = cursor.name("an alias")
    return name


def _assignment(cursor: Cursor, known: set[str]) -> tuple[str, Span, exp.Expression]:
    name, place = cursor.name("a column")
    if name.lower() in known and cursor.accept("."):
        name, place = cursor.name("a column")
    if not cursor.accept("="):
        cursor.fail(f"expected = after the column {name}")
    return name, place, cursor.expression()


def _where(cursor: Cursor) -> exp.Expression | None:
    where = cursor.expression() if cursor.accept("WHERE") else None
    cursor.end()
    return where


def delete(cursor: Cursor, text: str, span: Span) -> Delete | Insert:
    """DELETE FROM t [[AS] a] [WHERE condition]; over a stream it stands."""
    cursor.expect("DELETE", "FROM")
    table, table_span = cursor.qualified_name("a table")
    alias = _alias(cursor, "WHERE")
    found = Delete(text=text, span=span, table=table, table_span=table_span, where=_where(cursor), alias=alias)
    return standing_delete(found) or found


def query(cursor: Cursor, text: str, span: Span) -> Query:
    """SELECT, VALUES, WITH, or one of them in parentheses."""
    tree = cursor.query()
    cursor.end()
    return Query(text=text, span=span, tree=tree)
