"""The columns of a lake's table that a table here reads: each version has its own."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from penstock.catalog.model import Table
from penstock.errors import DataError, Diagnostic
from penstock.sources.formats.columns import check_names
from penstock.sources.lake.declared import UNKNOWN_COLUMNS
from penstock.sources.transport import BrokenStreamError


@dataclass(frozen=True, slots=True)
class LakeColumns:
    """Chooses columns for one table; `where` is the lake's table as its user names it."""

    table: Table
    where: str

    def read(self, names: Iterable[str]) -> list[str]:
        """Those of a version's columns that are read; DataError for one that the table lacks and is not to get."""
        unknown = UNKNOWN_COLUMNS.value(self.table)
        try:
            return check_names(self.table, names, ignore_unknown=unknown != "reject", adds=unknown == "add")
        except BrokenStreamError as error:
            message = f"table {self.table.name}, {self.where}: {error}"
            raise DataError(Diagnostic("UNKNOWN_COLUMN", message, self.table.span)) from None
