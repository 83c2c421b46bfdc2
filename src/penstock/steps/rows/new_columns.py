"""Columns that rows have and their table lacks, and the type that each is to have: `'unknown_columns' = 'add'`.

    5 and 7, or in CSV the texts 5 and 7       BIGINT
    5 and 1.5                                  DOUBLE
    true                                       BOOLEAN
    "5", 5 and "x", {"a": 5}, "2024-01-31"     STRING, in which what is no text is its JSON

A type is the narrowest of these that holds all values that are there when the column is found; a file that says types
of its own, as Parquet does, has these. Text is never taken for a time, as in Spark's readers. A column of which all
values are NULL is not found yet.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import pyarrow as pa

from penstock.catalog.reserved import RESERVED

BIGINT, DOUBLE, BOOLEAN, STRING = "BIGINT", "DOUBLE", "BOOLEAN", "STRING"
_LONGEST_NAME = 255
_MOST = 1_000
_DIGITS = 38  # that a DECIMAL has at most
_BIGGEST = (1 << 63) - 1
# What a number is written back as: a text with zeros in front, such as a post code, stays a text.
_WHOLE = re.compile(r"0|-?[1-9][0-9]*")
_FRACTION = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+([eE][+-]?[0-9]+)?|[eE][+-]?[0-9]+)")


@dataclass
class NewColumns:
    """The columns that rows of one table have been found to have beyond those of the table."""

    _found: dict[str, tuple[str, str]] = field(default_factory=dict)  # by the lower-case name

    def note(self, name: str, kind: str) -> None:
        """Rows have values of a kind in a column."""
        first, known = self._found.get(name.lower(), (name, kind))
        self._found[name.lower()] = first, wider(known, kind)

    def note_all(self, kinds: Mapping[str, str]) -> None:
        """The same of several columns."""
        for name, kind in kinds.items():
            self.note(name, kind)

    def taken(self) -> dict[str, str]:
        """The columns that have been found since the last time, with their types."""
        found = dict(self._found.values())
        self._found.clear()
        return found


def wrong_names(names: Iterable[str], known: int) -> str | None:
    """The fault of the names of new columns, beside so many that the table has; None if nothing is."""
    seen: dict[str, str] = {}
    for name in names:
        if not name.strip() or len(name) > _LONGEST_NAME or not name.isprintable():
            return f"{name[:60]!r} cannot be the name of a column"
        if name.lower() in RESERVED:
            return f"a column cannot be named {name}: {RESERVED[name.lower()]}"
        if name.lower() in seen:
            return two_columns(name)
        seen[name.lower()] = name
    if known + len(seen) > _MOST:
        return f"{next(iter(seen))[:100]!r} would be a column more than the {_MOST:,} that a table can grow to"
    return None


def two_columns(name: str) -> str:
    """The fault of names that are the same in lower case."""
    return f"it has two columns {name[:100]}, be it in another case"


def kind_of_value(value: Any) -> str:
    """The narrowest type that holds a value of JSON."""
    if isinstance(value, bool):
        return BOOLEAN
    if isinstance(value, int):
        return BIGINT if -_BIGGEST <= value <= _BIGGEST else STRING
    return DOUBLE if isinstance(value, float | Decimal) else STRING


def kind_of_text(text: str) -> str:
    """The same of a text that stands for a value, as in CSV."""
    if _WHOLE.fullmatch(text):
        return kind_of_value(int(text)) if len(text) <= len(str(-_BIGGEST)) else STRING
    if _FRACTION.fullmatch(text):
        return DOUBLE
    return BOOLEAN if text.lower() in ("true", "false") else STRING


def kinds_of(data: pa.Table, *, texts: bool) -> Mapping[str, str]:
    """The types of columns, as far as they have values."""
    found = {name: data.column(name) for name in data.column_names}
    there = {name: column for name, column in found.items() if column.null_count < len(column)}
    return {name: _kind_of_texts(column) if texts else kind_of_type(column.type) for name, column in there.items()}


def _kind_of_texts(column: pa.ChunkedArray) -> str:
    kinds = {kind_of_text(text) for text in column.unique().to_pylist() if text is not None}
    kind = kinds.pop()
    for other in kinds:
        kind = wider(kind, other)
    return kind


def kind_of_type(kind: pa.DataType) -> str:
    """The type of a column whose file says its type."""
    if pa.types.is_dictionary(kind):
        return kind_of_type(kind.value_type)
    if pa.types.is_decimal(kind) and kind.precision <= _DIGITS and kind.scale >= 0:
        return f"DECIMAL({kind.precision}, {kind.scale})"
    if pa.types.is_timestamp(kind):
        return "TIMESTAMP" if kind.tz else "TIMESTAMP_NTZ"
    found = {
        BOOLEAN: pa.types.is_boolean(kind),
        BIGINT: pa.types.is_integer(kind) and not pa.types.is_uint64(kind),
        DOUBLE: pa.types.is_floating(kind),
        "DATE": pa.types.is_date(kind),
        "BINARY": pa.types.is_binary(kind) or pa.types.is_large_binary(kind),
    }
    return next((name for name, holds in found.items() if holds), STRING)


def wider(one: str, other: str) -> str:
    """The narrowest type that holds the values of both."""
    return one if one == other else DOUBLE if {one, other} == {BIGINT, DOUBLE} else STRING
