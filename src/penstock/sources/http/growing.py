"""The column by which an address is asked for more: its values, as the table has them and as the address says them."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import tzinfo
from decimal import Decimal
from typing import Any

from penstock.catalog.model import Column, Table
from penstock.sources.formats.choice import csv_shape, leniency
from penstock.sources.formats.csv import Shape
from penstock.sources.http.declared import FORMAT, growing
from penstock.steps.exact import exact, from_exact
from penstock.steps.rows.values import Convert, converter

_OPERATIONS = ("insert", "delete", "update")


@dataclass(frozen=True, slots=True)
class Value:
    """A value of the growing column: as the table has it, and as the address has said it and is told it again.

    Values compare in full: a table's may have lost digits that the address goes by.
    """

    value: Any
    text: str

    @property
    def order(self) -> tuple[Any, ...]:
        """The value to compare by."""
        number = isinstance(self.value, int | float | Decimal)
        return (Decimal(self.text),) if number else (self.value, self.text)


@dataclass(frozen=True, slots=True)
class Growing:
    """The column by which rows are asked for, found in a message of JSON or a record of CSV."""

    column: Column
    convert: Convert
    names: tuple[str, ...]
    shape: Shape | None  # that of CSV

    def value(self, message: bytes) -> Value | None:
        """The value of a row; None if it has none that fits the column."""
        try:
            found = self._given(message)
            if found is None or isinstance(found, bool | list | dict):
                return None
            exactly = isinstance(found, Decimal) and not self.column.type.lower().startswith("decimal")
            value = self.convert(float(found) if exactly else found)
            return Value(value, str(found)) if not isinstance(value, float) or math.isfinite(value) else None
        except (ArithmeticError, ValueError, TypeError, RecursionError):
            return None

    def _given(self, message: bytes) -> Any:
        lower = self.column.label.lower()
        if self.shape is not None:
            fields = self.shape.cutting.fields(message.decode())
            place = self.names.index(lower)
            field = fields[place] if place < len(fields) else None
            return None if field in self.shape.nulls(self.column.type) else field
        row = json.loads(message, parse_float=Decimal)
        for name in _OPERATIONS:
            if isinstance(row, dict) and isinstance(row.get(name), dict) and name not in self.names:
                row = row[name]
        named = row.items() if isinstance(row, dict) else ()
        return next((value for name, value in named if name.lower() == lower), None)


def growing_column(table: Table, zone: tzinfo) -> Growing | None:
    """The column that a table's address is asked by; None for a document."""
    name, style = growing(table), FORMAT.value(table)
    if name is None:
        return None
    filled = [column for column in table.shown if column.metadata is None]
    column = next(item for item in filled if item.label.lower() == name.lower())
    convert = converter(column.type, zone, leniency(style, table))
    names = tuple(item.label.lower() for item in filled)
    return Growing(column, convert, names, csv_shape(table) if style == "csv" else None)


def kept(value: Value | None) -> dict[str, Any]:
    """A value as a manifest has it."""
    return {"value": None} if value is None else {"value": exact(value.value), "text": value.text}


def from_kept(item: Mapping[str, Any]) -> Value | None:
    """A value that a manifest has."""
    return None if item.get("value") is None else Value(from_exact(item["value"]), item["text"])
