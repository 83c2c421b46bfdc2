"""The columns of a table of PostgreSQL as those of the table here: which are read, and what becomes of the others."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from penstock.catalog.model import Column, Table
from penstock.sources.formats.columns import check_unknown
from penstock.sources.postgres.connection import TableName
from penstock.sources.postgres.declared import UNKNOWN_COLUMNS
from penstock.sources.postgres.messages import TypeOf
from penstock.sources.postgres.values import TEXT, Load, given, kind_of
from penstock.steps.rows.batch import RowReader


@dataclass(frozen=True)
class TableColumns:
    """The columns that rows of one table are read by."""

    table: Table
    source: TableName
    reader: RowReader

    @property
    def adds(self) -> bool:
        """True if the table gets columns that it lacks."""
        return UNKNOWN_COLUMNS.value(self.table) == "add"

    def has(self, name: str) -> bool:
        """True if the table has a column of that name."""
        return self.table.column(name) is not None

    def reads(self, name: str) -> bool:
        """True if the values of a column are wanted."""
        return self.adds or self.has(name)

    def used(self, columns: Mapping[str, TypeOf]) -> dict[str, int]:
        """The columns that the table has, with their types."""
        return {name: kind.number for name, kind in columns.items() if self.has(name)}

    def wanted(self, columns: Mapping[str, TypeOf]) -> dict[str, TypeOf]:
        """The columns whose values are wanted; DataError for one that the table lacks and does not take."""
        check_unknown(self.table, columns, str(self.source))
        if self.adds:
            self.reader.know({name: kind_of(kind) for name, kind in columns.items() if not self.has(name)})
        return {name: kind for name, kind in columns.items() if self.reads(name)}

    def row(self, values: Iterable[tuple[str, TypeOf, bytes | None]], load: Load) -> dict[str, Any]:
        """A row by the names of the table's columns, from values as text by those of the database's; ValueError."""
        found: dict[str, Any] = {}
        for name, kind, text in values:
            column, value = self.table.column(name), None if text is None else load(text, kind.number)
            if column is not None:
                found[column.label] = given(self._as_added(column, text, value, load), column.type)
            elif self.adds and value is not None:
                found[name] = value
        return found

    def _as_added(self, column: Column, text: bytes | None, value: Any, load: Load) -> Any:
        """The value of a column that may be one of text because nothing here holds its type: then its text."""
        if text is None or not self.adds or column.type.lower() != "string" or isinstance(value, str | dict | list):
            return value
        return load(text, TEXT)
