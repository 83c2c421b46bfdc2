"""Values of PostgreSQL as a row reader takes them: those that psycopg makes, times in UTC, the rest as text."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

from penstock.sources.postgres.connection import driver
from penstock.steps.rows.rejected import json_text

_PLAIN = (str, bool, int, float, Decimal, bytes, date, time, timedelta)


def loading(connection: Any) -> Callable[[bytes, int], Any]:
    """A function from the text of a value and the number of its type to the value; ValueError for what has none."""
    psycopg = driver()
    transformer = psycopg.adapt.Transformer(connection)

    def load(text: bytes, kind: int) -> Any:
        try:
            return transformer.get_loader(kind, psycopg.pq.Format.TEXT).load(text)
        except (psycopg.Error, ValueError, ArithmeticError) as error:
            message = f"{text.decode(errors='replace')[:100]!r} is beyond what can be held: {error}"
            raise ValueError(message) from None

    return load


def given(value: Any, kind: str) -> Any:
    """A value for a column of one of Spark's types: JSON, and what Spark has no type for, is text in one of text."""
    if value is None:
        return None
    if kind.lower().startswith(("string", "varchar", "char")):
        return _as_text(value)
    if isinstance(value, datetime):
        return value if value.tzinfo is None else value.astimezone(UTC).replace(tzinfo=None)
    if isinstance(value, memoryview | bytearray):
        return bytes(value)
    if isinstance(value, list):
        inner = kind[kind.find("<") + 1 : -1] if kind.lower().startswith("array<") else ""
        return [given(item, inner) for item in value]
    return value


def _as_text(value: Any) -> Any:
    if isinstance(value, str):
        return value
    if isinstance(value, dict | list):
        return json_text(value)
    return value if isinstance(value, _PLAIN) else str(value)
