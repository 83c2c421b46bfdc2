"""Can a table take what a standing statement writes into it: is anything taken back, and do the keys fit (D5)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

from penstock.analysis.changelog import Retraction, retracting
from penstock.analysis.keys import unique_keys
from penstock.catalog.model import ERROR_VIEW, Catalog, Column, Table, Writer
from penstock.errors import Diagnostic, PenstockError, SqlError

_CONSTANT = ("(", "current_")  # what a default that is another value each time contains, or may


def writing_checks(catalog: Catalog) -> Iterator[Callable[[], object]]:
    """One check for each standing statement, which raises what is wrong with it."""
    for writer in catalog.writers.values():
        yield partial(check_writer, writer, catalog)


def check_writer(writer: Writer, catalog: Catalog) -> None:
    """SqlError for a statement whose table cannot take what it writes, with what takes rows back, and the fix."""
    table = catalog.tables[writer.writing.target.lower()]
    try:
        _refuse_errors(writer, catalog)
        if table.append_only and writer.writing.does != "insert":
            message = f"rows of {table.name} stay as they came, but {writer.name} is to {writer.writing.does} them"
            hint = "a table that is not append-only, with a PRIMARY KEY"
            raise SqlError(Diagnostic("TAKES_ROWS_BACK", message, writer.span, hint=hint))
        if table.append_only:
            _refuse_retraction(writer, table, taken_back(writer, catalog))
        elif table.key:
            _refuse_other_key(writer, table, catalog)
        else:
            _refuse_lost_rows(writer, table, catalog)
    except PenstockError as error:
        raise error.with_source(writer.source) from None


def taken_back(writer: Writer, catalog: Catalog) -> Retraction | None:
    """The operator because of which a statement takes back what it has written; None if it never does."""
    return None if writer.adds_only else retracting(writer.plan, catalog)


def _refuse_errors(writer: Writer, catalog: Catalog) -> None:
    """Refuse a reader of `error_view`: rows that are written can be late, and would be reported there."""
    waiting, seen = [*writer.reads], set[str]()
    while waiting:
        name = waiting.pop()
        view = catalog.views.get(name)
        if name == ERROR_VIEW.name:
            message = f"{writer.name} reads error_view, which is known only when all that is written is"
            raise SqlError(Diagnostic("STANDING_CYCLE", message, writer.span, hint="read error_view in a view"))
        if view is not None and view.plan is not None and name not in seen:
            seen.add(name)
            waiting += view.plan.scanned


def _refuse_retraction(writer: Writer, table: Table, found: Retraction | None) -> None:
    if found is None:
        return
    message = f"rows of {table.name} stay as they came, but {writer.name} takes rows back: {found.operator}"
    hint = f"give {table.name} a PRIMARY KEY; or EMIT AFTER WATERMARK, which writes rows once they are final"
    if found.operator == "Scan":
        hint = "'append_only' = 'true' on the table that is read, or CREATE STREAM; or a PRIMARY KEY for " + table.name
    place = found.span or writer.span
    raise SqlError(Diagnostic("TAKES_ROWS_BACK", f"{message}, since {found.reason}", place, hint=hint), found.source)


def _refuse_other_key(writer: Writer, table: Table, catalog: Catalog) -> None:
    """A result that changes must have one row for a key of the table; of one that only grows the last row stays."""
    writing = writer.writing
    if writing.unless_there or writing.alone or writing.does != "insert" or _by_operators(writer, catalog) is None:
        return
    key = {name.lower() for name in table.key}
    found = unique_keys(writer.plan, catalog)
    if any({name.lower() for name in item} <= key for item in found):
        return
    wanted = ", ".join(table.key)
    message = f"{writer.name} may give several rows for one key of {table.name}, whose PRIMARY KEY is ({wanted})"
    visible = {name.lower() for name in writer.writing.columns}
    known = [sorted(item) for item in found if {name.lower() for name in item} <= visible]
    if known:
        message = f"{message}: its rows have the key ({', '.join(min(known))})"
    hint = "make that the key of the table; or " if known else f"GROUP BY {wanted}; or "
    hint = f"{hint}ON CONFLICT DO DEDUPLICATE, which keeps the last row of each key"
    raise SqlError(Diagnostic("KEY_DIFFERS", message, writer.span, hint=hint))


def _by_operators(writer: Writer, catalog: Catalog) -> Retraction | None:
    """The same where rows of tables without a key are only added: what is deleted there was a row of its own."""
    tables = {name: table if table.key else replace(table, stream=True) for name, table in catalog.tables.items()}
    return taken_back(writer, replace(catalog, tables=tables))


def _refuse_lost_rows(writer: Writer, table: Table, catalog: Catalog) -> None:
    """Without a key a row is taken back by all its columns; in dialect flink such a table is one that is added to."""
    if catalog.settings.get("dialect") == "flink":
        _refuse_retraction(writer, table, _by_operators(writer, catalog))
    written = {name.lower() for name in writer.writing.columns}
    drawn = [item.name for item in table.columns if item.name.lower() not in written and _is_drawn(item)]
    found = taken_back(writer, catalog) if drawn else None
    if found is not None:
        message = f"{writer.name} takes rows back ({found.operator}), but does not say their {drawn[0]}"
        hint = f"name {drawn[0]} among the columns, or give {table.name} a PRIMARY KEY"
        raise SqlError(Diagnostic("TAKES_ROWS_BACK", message, writer.span, hint=hint))


def _is_drawn(item: Column) -> bool:
    """True for a column whose default is another value each time."""
    if item.hidden:
        return False
    return item.optional or (item.default is not None and any(sign in item.default.lower() for sign in _CONSTANT))
