"""Values of PostgreSQL as a row reader takes them: those that psycopg makes, times in UTC, the rest as text.

A column that a table gets because rows have it (`'unknown_columns' = 'add'`) has the type that `kind_of` gives:

    smallint, integer, bigint    BIGINT        numeric(p, s)    DECIMAL(p, s), if it has no more than 38 digits
    real, double precision       DOUBLE        numeric          DECIMAL(38, 18), which Spark's reader takes too
    boolean                      BOOLEAN       bytea            BINARY
    date                         DATE          timestamptz      TIMESTAMP, and timestamp TIMESTAMP_NTZ
    anything else                STRING
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

from penstock.sources.postgres.connection import driver
from penstock.sources.postgres.messages import TypeOf
from penstock.steps.rows.new_columns import BIGINT, BOOLEAN, DOUBLE, STRING
from penstock.steps.rows.rejected import json_text

Load = Callable[[bytes, int], Any]
TEXT = 25
_NUMERIC, _DIGITS, ANY_NUMBER = 1700, 38, "DECIMAL(38, 18)"
_KINDS = {
    16: BOOLEAN,
    17: "BINARY",
    **dict.fromkeys((20, 21, 23), BIGINT),
    **dict.fromkeys((700, 701), DOUBLE),
    1082: "DATE",
    1114: "TIMESTAMP_NTZ",
    1184: "TIMESTAMP",
}
_PLAIN = (str, bool, int, float, Decimal, bytes, date, time, timedelta)


def loading(connection: Any) -> Load:
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


def kind_of(column: TypeOf) -> str:
    """The type here of a column that a table lacks."""
    return _KINDS.get(column.number, STRING) if column.number != _NUMERIC else _kind_of_numeric(column.modifier)


def _kind_of_numeric(modifier: int) -> str:
    if modifier < 0:
        return ANY_NUMBER
    precision, scale = (modifier - 4) >> 16 & 0xFFFF, ((modifier - 4 & 0x7FF) ^ 1024) - 1024
    behind = max(scale, 0)
    digits = max(precision - scale, 0) + behind
    return f"DECIMAL({max(digits, 1)}, {behind})" if digits <= _DIGITS else STRING


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
