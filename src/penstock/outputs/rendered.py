"""Values as CSV and as text for people."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping
from datetime import date, datetime, time
from typing import Any

from penstock.steps.rows.rejected import json_text


def csv_line(values: Iterable[Any]) -> str:
    """One line of CSV; NULL is empty."""
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="\n").writerow([flat_value(value) for value in values])
    return buffer.getvalue()


def text_value(value: Any) -> str:
    """A value for people."""
    return "NULL" if value is None else flat_value(value)


def flat_value(value: Any) -> str:
    """A value as one text: times as ISO text, bytes as hexadecimal digits, nested values as JSON, NULL as nothing."""
    match value:
        case None:
            return ""
        case bool():
            return str(value).lower()
        case datetime():
            return value.isoformat(" ")
        case date() | time():
            return value.isoformat()
        case bytes():
            return value.hex().upper()
        case list() | tuple() | Mapping():
            return json_text(value)
        case _:
            return str(value)
