"""The columns of a file that says their names, as Parquet and Avro do, against those of the table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from penstock.catalog.model import Table
from penstock.catalog.reserved import OPERATION
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
