"""ALTER TABLE … ADD COLUMNS, SET and RESET; whatever else ALTER may say is refused, with what works."""

from __future__ import annotations

from dataclasses import replace

from penstock.catalog.model import Column
from penstock.errors import Span
from penstock.sql.columns import Elements, read_element, refuse
from penstock.sql.cursor import Cursor
from penstock.sql.properties import Properties, read_options
from penstock.sql.statements import AddColumns, AddedColumn, SetProperties

_ANEW = "drop and create it again; views over it must be dropped first"
_ANOTHER = "declare another table, and have a statement write into it what is to go on"
_REFUSED = {
    "DROP": ("that drop columns", "leave the column out of the views that read the table"),
    "REPLACE": ("that replace columns", _ANOTHER),
    "CHANGE": ("that change columns", _ANOTHER),
    "ALTER": ("that change columns", _ANOTHER),
    "MODIFY": ("that change columns", _ANOTHER),
    "RENAME": ("that rename", _ANEW),
}
_CONSTRAINTS = frozenset({"CONSTRAINT", "PRIMARY", "PARTITION", "WATERMARK", "UNIQUE", "FOREIGN", "CHECK"})


def alter(cursor: Cursor, text: str, span: Span) -> AddColumns | SetProperties:
    """ALTER TABLE | STREAM t SET | RESET (…), or ADD [COLUMN | COLUMNS] [IF NOT EXISTS] c TYPE …, …, or (c TYPE …)."""
    if cursor.peek(1) not in {"TABLE", "STREAM"}:
        refuse(cursor, f"ALTER {cursor.peek(1)}".strip() + " statements", _ANEW)
    cursor.move(2)
    name, name_span = cursor.qualified_name("a table")
    if cursor.peek() in {"SET", "RESET", "UNSET"}:
        return _properties(cursor, SetProperties(text=text, span=span, table=name, table_span=name_span))
    if cursor.peek() != "ADD":
        what, hint = _REFUSED.get(cursor.peek(), ("of this kind", _ANEW))
        refuse(cursor, f"ALTER TABLE statements {what}", hint)
    cursor.move()
    if cursor.peek() in _CONSTRAINTS:
        refuse(cursor, f"ALTER TABLE … ADD {cursor.peek()} statements", "what can be added are columns")
    cursor.accept_any("COLUMN", "COLUMNS")
    if_not_exists = cursor.accept("IF", "NOT", "EXISTS")
    columns = tuple(_columns(cursor))
    cursor.end()
    return AddColumns(
        text=text, span=span, table=name, table_span=name_span, columns=columns, if_not_exists=if_not_exists
    )


def _properties(cursor: Cursor, statement: SetProperties) -> SetProperties:
    """SET [TBLPROPERTIES | OPTIONS] ('k' = 'v', …), RESET ('k', …) or UNSET TBLPROPERTIES [IF EXISTS] ('k', …)."""
    sets = cursor.peek() == "SET"
    cursor.move()
    words = cursor.accept_any("TBLPROPERTIES", "OPTIONS")
    if cursor.peek() != "(" and not words:
        refuse(cursor, "ALTER TABLE statements of this kind", "SET ('name' = 'value') says how its source is read")
    if sets:
        found = Properties()
        read_options(cursor, found)
        cursor.end()
        return replace(statement, values=dict(found.values), places=found.places)
    cursor.accept("IF", "EXISTS")
    names = cursor.listed(lambda: _property_name(cursor), "the properties")
    cursor.end()
    return replace(statement, removed=tuple(names))


def _property_name(cursor: Cursor) -> tuple[str, Span]:
    start, token = cursor.index, cursor.token
    name = "" if token is None else str(token.text)
    if not name:
        cursor.fail("expected a property")
    cursor.move()
    while cursor.accept("."):
        name += "." + cursor.name("a property")[0]
    return name.lower(), cursor.since(start)


def _columns(cursor: Cursor) -> list[AddedColumn]:
    if cursor.peek() == "(":
        return cursor.listed(lambda: _added(cursor), "the columns")
    found = [_added(cursor)]
    while cursor.accept(","):
        found.append(_added(cursor))
    return found


def _added(cursor: Cursor) -> AddedColumn:
    start, elements = cursor.index, Elements()
    read_element(cursor, elements)
    what = _beyond(elements)
    if what is not None:  # it would have to hold for the rows that are there already
        cursor.move(start - cursor.index)
        refuse(cursor, f"{what} in ALTER TABLE", _ANOTHER)
    (column,) = elements.columns
    if cursor.accept("FIRST"):
        return AddedColumn(column, "")
    if cursor.accept("AFTER"):
        return AddedColumn(column, *cursor.name("a column"))
    return AddedColumn(column)


def _beyond(elements: Elements) -> str | None:
    """The part of a declaration that makes it more than a plain column; None if nothing does."""
    column: Column | None = elements.columns[0] if elements.columns else None
    if elements.computed or (column is not None and column.optional):
        return "computed columns"
    if elements.watermarks or (column is not None and column.lateness is not None):
        return "bounds of lateness"
    if column is None or elements.keys or elements.foreign_keys:
        return "keys"
    return "bounds of WATERMARK" if column.watermark is not None else None
