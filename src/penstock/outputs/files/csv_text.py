"""A row as a record of CSV, as Spark writes it and a table with the format csv reads it again.

NULL is an empty field, the empty text `""`. A field that could be taken for something else stands in quotes, within
which a backslash stands before quotes and backslashes; `'escape' = '"'` writes RFC 4180 instead.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

from penstock.sources.formats.cutting import Cutting
from penstock.steps.rows.interval_texts import day_time_text
from penstock.steps.rows.rejected import json_text

DELIMITER, QUOTE, ESCAPE = ",", '"', "\\"
_SPECIAL = frozenset(',"\r\n')


@dataclass(frozen=True, slots=True)
class CsvWriter:
    """Writes records; `escape` stands before a quote within quotes."""

    escape: str = ESCAPE

    @property
    def cutting(self) -> Cutting:
        """The records as a reader cuts them."""
        return Cutting(DELIMITER, QUOTE, self.escape)

    def record(self, values: Iterable[Any]) -> str:
        """One record; of a single NULL it is two quotes, as an empty line is no record."""
        fields = [self._field(value) for value in values]
        return (DELIMITER.join(fields) if fields != [""] else QUOTE * 2) + "\n"

    def _field(self, value: Any) -> str:
        if value is None:
            return ""
        text = field_text(value)
        if text and _SPECIAL.isdisjoint(text) and text == text.strip():
            return text
        escaped = text if self.escape == QUOTE else text.replace(self.escape, self.escape * 2)
        return QUOTE + escaped.replace(QUOTE, self.escape + QUOTE) + QUOTE


def field_text(value: Any) -> str:
    """A value as text: times as ISO text, bytes as hexadecimal digits, nested values as JSON."""
    match value:
        case str():
            return value
        case bool():
            return str(value).lower()
        case float():
            return repr(value) if math.isfinite(value) else json_text(value).strip(QUOTE)
        case Decimal():
            return format(value, "f")
        case datetime():
            return value.isoformat(" ")
        case date() | time():
            return value.isoformat()
        case timedelta():
            return day_time_text(value)
        case bytes():
            return f"\\x{value.hex()}"
        case list() | tuple() | Mapping():
            return json_text(value)
        case _:
            return str(value)
