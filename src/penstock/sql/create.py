"""CREATE, DECLARE and DROP."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from penstock.catalog.model import Column, ComputedColumn, Lateness, Table
from penstock.catalog.properties import (
    COMMENT,
    CONNECTOR,
    PARTITIONED_BY,
    check_table,
    check_view,
    partition_names,
)
from penstock.catalog.types import struct_type
from penstock.catalog.word_list import word_list
from penstock.errors import Diagnostic, Span, did_you_mean
from penstock.sql.columns import Elements, read_elements, read_names, read_placed_names, refuse
from penstock.sql.cursor import Cursor
from penstock.sql.failure import ParseFailure
from penstock.sql.partitions import partitions_last
from penstock.sql.peer_properties import in_our_words
from penstock.sql.properties import Properties, read_properties
from penstock.sql.sparktables import FILES, SparkClauses, described, read_clauses
from penstock.sql.statements import (
    CreateFunction,
    CreateTable,
    CreateType,
    CreateView,
    DeclareRecursiveView,
    Drop,
    DropPosition,
    Unparsed,
)
from penstock.sql.streams import Kind, event_time, kind_of, read_storage, told_apart, with_times, without_storage
from penstock.sql.unread import spark_alone_reads

_KINDS = ("TABLE", "STREAM", "VIEW", "FUNCTION", "TYPE")
_KEPT = frozenset({"LOCAL", "MATERIALIZED"})
_SHORT_LIVED = frozenset({"TEMPORARY", "TEMP"})
_ALTERNATIVES = {word: words for words in (_KEPT, _SHORT_LIVED) for word in words}  # a statement has one of each
_ELSEWHERE = frozenset(word_list("INDEX SCHEMA DATABASE CATALOG SINK SOURCE CONNECTION TRIGGER PROCEDURE MODEL"))

_BEHIND_COLUMNS = frozenset(word_list("AS LIKE USING WITH OPTIONS LOCATION PARTITIONED TBLPROPERTIES COMMENT"))
_QUERIES = frozenset(word_list("SELECT WITH FROM VALUES TABLE ("))
_VIEW_OF_QUERY = (
    "CREATE VIEW name AS … has the rows of the query, and keeps them; with a connector it writes their changes, "
    "CREATE VIEW name WITH ('connector' = 'files', 'path' = …, 'format' = 'parquet') AS …"
)
_FROM_OUTSIDE = (
    "CREATE STREAM name (…) "
    "WITH ('connector' = 'kafka', 'bootstrap.servers' = …, 'topic' = …, 'format' = 'json') reads it"
)
_AT_RANDOM = "CREATE STREAM name (…) WITH ('connector' = 'datagen', 'rows-per-second' = '10') makes rows by rule"
_TABLE_OF_QUERY = "tables of a query, CREATE TABLE … AS,"


def create(cursor: Cursor, text: str, span: Span) -> CreateTable | CreateView | CreateFunction | CreateType | Unparsed:
    """CREATE [OR REPLACE] [modifiers] TABLE | STREAM | VIEW | FUNCTION | TYPE."""
    cursor.expect("CREATE")
    or_replace = cursor.accept("OR", "REPLACE")
    modifiers = _modifiers(cursor)
    kind = cursor.accept_any(*_KINDS)
    if kind is None:
        _no_kind(cursor)
    if kind != "VIEW":
        _refuse_modifiers(cursor, modifiers, kind)
    if_not_exists = _if_not_exists(cursor, str(kind), or_replace=or_replace)
    match kind:
        case "VIEW":
            return _view(cursor, text, span, modifiers, or_replace=or_replace, if_not_exists=if_not_exists)
        case "FUNCTION":
            return _function(cursor, text, span, or_replace=or_replace)
        case "TYPE":
            return _type(cursor, text, span, or_replace=or_replace)
        case _:
            table = _table(cursor, text, stream=kind == "STREAM")
            return CreateTable(text=text, span=span, table=table, or_replace=or_replace, if_not_exists=if_not_exists)


def _refuse_modifiers(cursor: Cursor, modifiers: set[str], kind: str | None) -> None:
    """Stop at what only a view can be."""
    if kind == "TABLE" and "MATERIALIZED" in modifiers:
        name = cursor.token.text if cursor.token is not None else "name"
        hint = f"CREATE MATERIALIZED VIEW {name} AS … is kept, and is as new as the last step"
        refuse(cursor, "MATERIALIZED tables, with a query and a FRESHNESS,", hint)
    for word in sorted(modifiers & _KEPT):
        refuse(cursor, f"{word} {kind}S", f"leave out {word}: it says of a view who reads it, and whether it is kept")


def _if_not_exists(cursor: Cursor, kind: str, *, or_replace: bool) -> bool:
    """IF NOT EXISTS, of what can have it."""
    start = cursor.index
    if not cursor.accept("IF", "NOT", "EXISTS"):
        return False
    if or_replace or kind in {"FUNCTION", "TYPE"}:
        cursor.move(start - cursor.index)
        what = "IF NOT EXISTS together with OR REPLACE" if or_replace else f"IF NOT EXISTS of a {kind}"
        refuse(cursor, f"statements with {what}", f"CREATE OR REPLACE {kind} name … declares it whatever there is")
    return True


def _modifiers(cursor: Cursor) -> set[str]:
    found: set[str] = set()
    while modifier := cursor.accept_any(*_ALTERNATIVES, "EXTERNAL", "GLOBAL"):
        if modifier == "EXTERNAL" and cursor.peek() == "TABLE":
            continue  # what LOCATION says anyway
        if modifier in {"EXTERNAL", "GLOBAL"}:
            outside = modifier == "EXTERNAL" and cursor.peek() == "STREAM"
            cursor.move(-1)
            refuse(cursor, f"CREATE {modifier} statements", _FROM_OUTSIDE if outside else f"leave out {modifier}")
        if found & _ALTERNATIVES[modifier]:
            cursor.move(-1)
            cursor.fail("expected TABLE, STREAM, VIEW, FUNCTION or TYPE")
        found.add(modifier)
    return found


def _no_kind(cursor: Cursor) -> None:
    found = cursor.peek()
    if found == "RANDOM":
        refuse(cursor, "CREATE RANDOM statements", _AT_RANDOM)
    if found in _ELSEWHERE:
        refuse(cursor, f"CREATE {found} statements", "a program declares tables, streams, views, functions and types")
    close = did_you_mean(found, [*_KINDS, "MATERIALIZED", "LOCAL", "OR REPLACE"])
    raise ParseFailure(
        cursor.token,
        Diagnostic(
            "SYNTAX_ERROR",
            f"CREATE {found or '…'} is no statement",
            cursor.here(),
            candidates=close,
            hint="what can be created is a TABLE, a STREAM, a [LOCAL | MATERIALIZED] VIEW, a FUNCTION or a TYPE",
        ),
    )


def _table(cursor: Cursor, text: str, *, stream: bool) -> Table:
    name, name_span = cursor.qualified_name("a stream" if stream else "a table")
    if cursor.peek() in {"FRESHNESS", "REFRESH_MODE"}:
        hint = f"CREATE MATERIALIZED VIEW {name} AS … is kept, and is as new as the last step"
        refuse(cursor, "tables with a query and a FRESHNESS", hint)
    if cursor.peek() in _BEHIND_COLUMNS:
        _refuse_without_columns(cursor, name)
    elements = read_elements(cursor)
    properties, clauses = Properties(), SparkClauses(idle=elements.idle)
    read_properties(cursor, properties)
    start = cursor.index
    if cursor.accept("PRIMARY", "KEY"):
        elements.keys.append((read_placed_names(cursor), cursor.since(start)))
    clauses.idle += read_storage(cursor) if cursor.rules.event_times else []
    read_clauses(cursor, clauses)
    if cursor.peek() == "LIKE":
        refuse(cursor, "CREATE TABLE … LIKE statements", "list all columns: CREATE TABLE t (c TYPE, …)")
    if cursor.peek() == "AS":
        refuse(cursor, _TABLE_OF_QUERY, _VIEW_OF_QUERY)
    read_properties(cursor, properties)
    cursor.end()
    warnings = without_storage(properties) if cursor.rules.event_times else []
    warnings += _joined(properties, clauses)
    elements.columns += clauses.partitions.columns
    computed = [Column(item.name, "void", span=item.span) for item in elements.computed]
    _distinct(elements.columns + computed, case_sensitive=cursor.rules.case_sensitive)
    columns = tuple(sorted(_with_watermarks(elements), key=lambda item: item.optional))
    if clauses.format in (*FILES, None):  # of which Spark orders the columns
        columns = partitions_last(columns, clauses.partitions)
    _check_partitions(columns, properties)
    if cursor.rules.case_sensitive and CONNECTOR not in properties.values:
        columns = told_apart(columns)
    kind = Kind(_key(elements, columns), append_only=stream)
    declared = None
    if cursor.rules.event_times:
        kind = kind_of(properties, kind.key, name_span, stream=stream)
        declared = event_time(columns, properties)
        columns = with_times(columns, declared, kind) if kind.key or kind.append_only else columns
    return Table(
        name=name,
        columns=tuple(replace(column, nullable=column.nullable and column.name not in kind.key) for column in columns),
        key=kind.key,
        stream=kind.append_only,
        properties=properties.values,
        places=properties.places,
        foreign_keys=tuple(elements.foreign_keys),
        event_time=declared,
        computed=tuple(elements.computed),
        warnings=(*warnings, *kind.warnings),
        text=text,
        span=name_span,
    )


def _refuse_without_columns(cursor: Cursor, name: str) -> None:
    """UnsupportedError for a table whose columns are those of a query, of another table or of files."""
    words = [str(token.text).upper() for token in cursor.tokens[cursor.index :]]
    query = next((at for at, pair in enumerate(pairwise(words)) if pair[0] == "AS" and pair[1] in _QUERIES), None)
    if query is not None:
        cursor.move(query)
        refuse(cursor, _TABLE_OF_QUERY, _VIEW_OF_QUERY)
    if cursor.peek() == "LIKE":
        refuse(cursor, "CREATE TABLE … LIKE statements", f"list the columns: CREATE TABLE {name} (c TYPE, …)")
    clause = f"USING {cursor.tokens[cursor.index + 1].text}" if words[0] == "USING" and words[1:] else f"{words[0]} …"
    hint = f"CREATE TABLE {name} (c TYPE, …) {clause}: a program says its columns, whatever its files hold"
    refuse(cursor, "tables without columns", hint)


def _joined(properties: Properties, clauses: SparkClauses) -> tuple[Diagnostic, ...]:
    """Add what Spark's clauses say to the properties, all of them checked; the warnings for what they say in vain."""
    found, warnings = described(clauses, connected=properties.values.get(CONNECTOR, "").lower() == "files")
    for name, value in found.values.items():
        if name in found.spans:
            properties.add(name, value, found.spans[name], found.value_spans.get(name))
        else:
            properties.values.setdefault(name, value)
    in_our_words(properties)
    check_table(properties.values, properties.spans)
    return tuple(warnings)


def _check_partitions(columns: Sequence[Column], properties: Properties) -> None:
    """Refuse `'partitioned_by'` of what is no column, or of all that there are."""
    names, span = partition_names(properties.values), properties.spans.get(PARTITIONED_BY)
    places = {_position(columns, name, span) for name in names}
    if len(places) == len(columns):
        message, hint = "all columns are those of folders", "a file has at least one column of its own"
        raise ParseFailure(None, Diagnostic("BAD_PROPERTY", message, span, hint=hint))


def _with_watermarks(elements: Elements) -> tuple[Column, ...]:
    columns = list(elements.columns)
    for name, lateness, span in elements.watermarks:
        if _of_computed(elements.computed, name, lateness):
            continue
        place = _position(columns, name, span)
        columns[place] = replace(columns[place], lateness=_once(columns[place], lateness, span))
    return tuple(columns)


def _of_computed(computed: list[ComputedColumn], name: str, lateness: Lateness) -> bool:
    """True if a computed column has that name: it has the bound then."""
    place = next((at for at, item in enumerate(computed) if item.name.lower() == name.lower()), None)
    if place is not None:
        computed[place] = replace(computed[place], lateness=lateness)
    return place is not None


def _once(column: Column, lateness: Lateness, span: Span) -> Lateness:
    if column.lateness is not None:
        raise ParseFailure(
            None, Diagnostic("DUPLICATE_LATENESS", f"the column {column.name} has two bounds of lateness", span)
        )
    return lateness


def _distinct(columns: list[Column], *, case_sensitive: bool = False) -> None:
    seen: set[str] = set()
    for column in columns:
        name = column.name if case_sensitive else column.name.lower()
        if name in seen:
            raise ParseFailure(
                None,
                Diagnostic("DUPLICATE_COLUMN", f"there are two columns {column.name}", column.span),
            )
        seen.add(name)


def _position(columns: Sequence[Column], name: str, span: Span | None) -> int:
    for place, column in enumerate(columns):
        if column.label == name:
            return place
    for place, column in enumerate(columns):
        if column.name.lower() == name.lower():
            return place
    known = [column.name for column in columns]
    raise ParseFailure(
        None,
        Diagnostic(
            "UNKNOWN_COLUMN",
            f"the table has no column {name}",
            span,
            candidates=did_you_mean(name, known),
            hint=f"its columns are {', '.join(known)}",
        ),
    )


def _key(elements: Elements, columns: tuple[Column, ...]) -> tuple[str, ...]:
    if not elements.keys:
        return ()
    if len(elements.keys) > 1:
        raise ParseFailure(
            None,
            Diagnostic(
                "DUPLICATE_PRIMARY_KEY",
                "the table has two primary keys",
                elements.keys[1][1],
                hint="a key of several columns is written PRIMARY KEY (a, b)",
            ),
        )
    names, span = elements.keys[0]
    key = tuple(columns[_position(columns, name, place)].name for name, place in names)
    if len({name.lower() for name in key}) < len(key):
        raise ParseFailure(None, Diagnostic("DUPLICATE_COLUMN", "a column stands twice in the primary key", span))
    return key


def _view(
    cursor: Cursor, text: str, span: Span, modifiers: set[str], *, or_replace: bool, if_not_exists: bool
) -> CreateView | Unparsed:
    name, name_span = cursor.qualified_name("a view")
    columns = read_names(cursor) if cursor.peek() == "(" else ()
    properties = Properties()
    read_properties(cursor, properties)
    into, into_span = cursor.qualified_name("a table") if cursor.accept("INTO") else (None, None)
    if cursor.peek() == "COMMENT":
        place = cursor.here()
        cursor.move()
        properties.add(COMMENT, cursor.string("the comment"), place)
        del properties.spans[COMMENT]  # it is no property that is written as one
    in_our_words(properties)
    check_view(properties.values, properties.spans)
    cursor.expect("AS")
    kind = next((kind.lower() for kind in ("MATERIALIZED", "LOCAL") if kind in modifiers), "view")
    start = cursor.index
    query_text = cursor.source[cursor.here().start : span.end] if cursor.token is not None else ""
    try:
        query = cursor.query()
        cursor.end()
    except ParseFailure as failure:
        reason = spark_alone_reads(cursor.tokens[start:], failure)
        if reason is None or columns or into or cursor.rules.name != "penstock":
            raise  # in another dialect the words would get Spark's meaning
        return Unparsed(
            text=text,
            span=span,
            name=name,
            name_span=name_span,
            query_text=query_text,
            reason=reason,
            kind=kind,
            or_replace=or_replace,
            if_not_exists=if_not_exists,
            properties=properties.values,
            places=properties.places,
        )
    return CreateView(
        text=text,
        span=span,
        name=name,
        name_span=name_span,
        query=query,
        query_text=query_text,
        column_names=columns,
        kind=kind,
        or_replace=or_replace,
        if_not_exists=if_not_exists,
        properties=properties.values,
        places=properties.places,
        into=into,
        into_span=into_span,
    )


def _function(cursor: Cursor, text: str, span: Span, *, or_replace: bool) -> CreateFunction:
    name, _ = cursor.qualified_name("a function")
    parameters: list[Column] = []
    if not cursor.accept("(", ")"):
        parameters = cursor.listed(lambda: _typed_name(cursor), "the parameters")
    returns = None
    if cursor.accept("RETURNS"):
        if cursor.peek() == "TABLE":
            refuse(cursor, "functions that return tables", "write a view")
        returns = cursor.type()
        cursor.accept("NOT", "NULL")
    if not (cursor.accept("RETURN") or cursor.accept("AS")):
        cursor.fail("expected RETURN and an expression", hint="CREATE FUNCTION f(x INT) RETURNS INT RETURN x + 1")
    body = cursor.expression()
    cursor.end()
    return CreateFunction(
        text=text, span=span, name=name, parameters=tuple(parameters), returns=returns, body=body, or_replace=or_replace
    )


def _type(cursor: Cursor, text: str, span: Span, *, or_replace: bool) -> CreateType:
    name, name_span = cursor.name("a type")
    cursor.expect("AS")
    kind = struct_type((item.name, item.type) for item in _fields(cursor)) if cursor.peek() == "(" else cursor.type()
    cursor.end()
    return CreateType(text=text, span=span, name=name, name_span=name_span, kind=kind, or_replace=or_replace)


def _fields(cursor: Cursor) -> list[Column]:
    fields = cursor.listed(lambda: _typed_name(cursor), "the fields")
    _distinct(fields)
    return fields


def _typed_name(cursor: Cursor) -> Column:
    name, span = cursor.name("a name")
    kind = cursor.type()
    nullable = not cursor.accept("NOT", "NULL")
    if nullable:
        cursor.accept("NULL")
    return Column(name, kind, nullable=nullable, span=span)


def declare(cursor: Cursor, text: str, span: Span) -> DeclareRecursiveView:
    """DECLARE RECURSIVE VIEW v (c TYPE, …)."""
    cursor.expect("DECLARE", "RECURSIVE", "VIEW")
    name, _ = cursor.qualified_name("a view")
    columns = cursor.listed(lambda: _typed_name(cursor), "the columns")
    cursor.end()
    _distinct(columns)
    return DeclareRecursiveView(text=text, span=span, name=name, columns=tuple(columns))


def drop(cursor: Cursor, text: str, span: Span) -> Drop | DropPosition:
    """DROP TABLE | STREAM | [MATERIALIZED] VIEW | FUNCTION | TYPE | POSITION [IF EXISTS] name."""
    cursor.expect("DROP")
    if cursor.accept("POSITION"):
        if_exists = cursor.accept("IF", "EXISTS")
        name, name_span = cursor.name("a position")
        cursor.end()
        return DropPosition(text=text, span=span, name=name, name_span=name_span, if_exists=if_exists)
    cursor.accept_any("MATERIALIZED", "LOCAL", "TEMPORARY")
    kind = cursor.accept_any(*_KINDS)
    if kind is None:
        cursor.fail("expected TABLE, STREAM, VIEW, FUNCTION, TYPE or POSITION after DROP")
    if_exists = cursor.accept("IF", "EXISTS")
    what = "table" if kind == "STREAM" else str(kind).lower()
    name, name_span = cursor.qualified_name(f"a {what}")
    cascade = cursor.accept("CASCADE")
    if not cascade:
        cursor.accept("RESTRICT")  # as without it: what others read stays
    cursor.end()
    return Drop(text=text, span=span, what=what, name=name, name_span=name_span, if_exists=if_exists, cascade=cascade)
