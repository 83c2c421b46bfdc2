"""The value itself: its bytes, or their text, in the one column that the table has for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from penstock.catalog.model import Table
from penstock.errors import Diagnostic, SqlError
from penstock.sources.formats.rows import utf8
from penstock.sources.messages.keys import deleted_by
from penstock.steps.rows.batch import INSERT, Operated


class RawMessages:
    """The format raw; SqlError for a table that has not one column for the value."""

    name = "raw"
    in_bulk = True

    def __init__(self, table: Table) -> None:
        if len(table.required) != 1:
            message = f"table {table.name}: the format raw fills one column, and there are {len(table.required)} for it"
            hint = "columns beside it are filled by METADATA, or by 'key.fields'"
            raise SqlError(Diagnostic("BAD_PROPERTY", message, table.span, hint=hint))
        self._table = table
        (column,) = table.required
        self._name, self._binary = column.name, column.type.lower() == "binary"

    def at_once(self, values: Sequence[bytes]) -> pa.Table | None:
        """All values as one column; None if one of them is no text where that is wanted."""
        found = pa.array(values, pa.binary())
        try:
            return pa.table({self._name: found if self._binary else found.cast(pa.string())})
        except pa.ArrowInvalid:
            return None

    def rows(self, value: bytes, place: str) -> Sequence[Operated]:
        """The row of one value."""
        return (Operated(INSERT, {self._name: value if self._binary else utf8(self._table, value, place)}),)

    def emptied(self, key: Mapping[str, Any] | None, place: str) -> Sequence[Operated]:
        """The deletion of what has its key."""
        return deleted_by(self._table, key, place)
