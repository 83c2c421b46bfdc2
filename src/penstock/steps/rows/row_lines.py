"""The waterlines that rows keep: those of all tables before the step in which a row comes (`bind.program.watermarks`).

They are one value for all rows of a step. A row has that of each of its own columns in the column's type, and those of
the other tables as one text of JSON, in which a time is a number of microseconds and a date one of days.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any

import pyarrow as pa

from penstock.analysis.derived import SourceColumn
from penstock.backends.columns import arrow_type
from penstock.backends.waterlines import rounded_up, typed_literal
from penstock.catalog.model import Column, Table
from penstock.catalog.reserved import WATERLINE, WATERLINES
from penstock.catalog.types import Type

Lines = Mapping[str, tuple[Any, Type]]

_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 - UTC, as all waterlines


@dataclass(frozen=True)
class RowLines:
    """The waterlines of tables before a step, and their columns' types; all by lower-case name."""

    tables: Mapping[str, Lines] = field(default_factory=dict)

    def scalar(self, table: Table, column: Column) -> pa.Scalar:
        """The value of a column that keeps waterlines, in its Arrow type."""
        kind = arrow_type(column.type)
        if column.name == WATERLINES:
            return pa.scalar(self._text_of_others(table), kind)
        at = self._own(table, column)
        return pa.scalar(None, kind) if at is None else rounded_up(at, kind)

    def literal(self, table: Table, column: Column) -> str:
        """The same as Spark SQL."""
        if column.name != WATERLINES:
            return typed_literal(self._own(table, column), column.type)
        text = self._text_of_others(table)
        return "CAST(NULL AS STRING)" if text is None else f"'{text}'"

    def literals(self, table: Table) -> dict[str, str]:
        """The values of all columns of a table that keep waterlines, as Spark SQL."""
        return {item.name: self.literal(table, item) for item in table.columns if item.keeps_waterlines}

    def _own(self, table: Table, column: Column) -> Any:
        lines = self.tables.get(table.name.lower(), {})
        at, _ = lines.get(column.name.removeprefix(WATERLINE).lower(), (None, ""))
        return at

    def _text_of_others(self, table: Table) -> str | None:
        own = table.name.lower()
        others = {key: value for name, key, value in self._all if name != own}
        return json.dumps(others) if others else None

    @cached_property
    def _all(self) -> list[tuple[str, str, Any]]:
        """The table of each waterline, its key in the text, and its value there."""
        return [
            (name, SourceColumn(name, column).key, _in_text(at, kind))
            for name, lines in self.tables.items()
            for column, (at, kind) in lines.items()
            if at is not None
        ]


def _in_text(at: Any, kind: Type) -> Any:
    """A waterline as it stands in the text."""
    if kind == "timestamp":
        return (at - _EPOCH) // timedelta(microseconds=1)
    if kind == "date":
        return -((_EPOCH - at) // timedelta(days=1))
    return str(at)
