"""The columns of what says their names, as Parquet, Avro and databases do, against those of the table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from penstock.catalog.model import Table
from penstock.catalog.reserved import OPERATION
from penstock.errors import DataError, Diagnostic
from penstock.sources.formats.declared import UNKNOWN_COLUMNS
from penstock.sources.transport import BrokenStreamError
from penstock.steps.rows.new_columns import wrong_names


def check_names(table: Table, names: Iterable[str], *, ignore_unknown: bool, adds: bool = False) -> list[str]:
    """Those of a file's columns that are read; BrokenStreamError if they are not the table's, or are to be."""
    columns = {column.name.lower() for column in table.shown} | {OPERATION}
    given = list(names)
    known = [name for name in given if name.lower() in columns]
    if twice := [name for name, count in Counter(name.lower() for name in known).items() if count > 1]:
        message = f"it has two columns {twice[0]}"
        raise BrokenStreamError(message)
    unknown = [name for name in given if name not in known]
    if unknown and not ignore_unknown:
        message = f"it has a column {unknown[0][:100]}, which the table lacks"
        raise BrokenStreamError(message)
    if unknown and not known:
        message = f"none of its columns is one of the table: {', '.join(unknown)[:200]}"
        raise BrokenStreamError(message)
    if adds and (wrong := wrong_names(unknown, len(table.columns))):
        raise BrokenStreamError(wrong)
    return given if adds else known


def check_unknown(table: Table, names: Iterable[str], where: str) -> None:
    """DataError for columns of a database that its table here lacks, and is neither to leave out nor can get."""
    unknown = UNKNOWN_COLUMNS.value(table)
    if unknown == "ignore":
        return
    try:
        check_names(table, names, ignore_unknown=unknown == "add", adds=unknown == "add")
    except BrokenStreamError as error:
        message = f"table {table.name}, {where}: {error}"
        hint = f"ALTER TABLE {table.name} ADD COLUMN …, or 'unknown_columns' = 'ignore'"
        raise DataError(Diagnostic("UNKNOWN_COLUMN", message, table.span, hint=hint)) from None
