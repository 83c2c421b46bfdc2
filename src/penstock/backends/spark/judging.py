"""Lateness as Spark SQL: whether a row is late, and how far a change moves a waterline.

The same for what comes into a table, for the gate of a view and for rows that become final.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from penstock.backends.judging import FUTURE, INFINITE, LATE, JudgedColumn, Judging
from penstock.backends.spark.parameters import as_parameter
from penstock.backends.waterlines import value_literal
from penstock.catalog.types import INTEGRAL, is_decimal
from penstock.plan.scalar import quoted


def _line(item: JudgedColumn) -> str:
    """A LATENESS column as it compares with a waterline: NaN is NULL, a DATE its midnight."""
    name = quoted(item.name)
    if item.type in ("float", "double"):
        return f"nanvl({name}, CAST(NULL AS DOUBLE))"
    return f"CAST({name} AS TIMESTAMP_NTZ)" if item.type == "date" else name


def greatest_text(item: JudgedColumn) -> str:
    """Spark SQL for the greatest value of a LATENESS column that is neither infinite nor too far ahead."""
    return f"max(CASE WHEN {_possible(item)} THEN {_line(item)} END)"


def portable_greatest(item: JudgedColumn) -> str:
    """The same in a form that reaches Python unchanged, for `greatest`."""
    text = greatest_text(item)
    if item.type == "timestamp":
        return f"unix_micros({text})"
    return text if item.type in ("float", "double") or item.type in INTEGRAL else f"CAST({text} AS STRING)"


def greatest(judging: Judging, facts: Mapping[str, Any]) -> dict[int, Any]:
    """The greatest value of each LATENESS column by its place, as it compares with a waterline."""
    return {item.place: _comparable(item, facts[f"max {item.place}"]) for item in judging}


def _comparable(item: JudgedColumn, value: Any) -> Any:
    if value is None:
        return None
    if item.type == "timestamp":
        return datetime(1970, 1, 1) + timedelta(microseconds=value)  # noqa: DTZ001 - UTC, as all waterlines
    if item.type in ("date", "timestamp_ntz"):
        return datetime.fromisoformat(value)
    return Decimal(value) if is_decimal(item.type) else value


def _possible(item: JudgedColumn) -> str:
    """A condition: the value is neither infinite nor too far ahead of the clock."""
    name, parts = quoted(item.name), []
    if item.type in ("float", "double"):
        parts.append(f"abs({name}) < double('Infinity')")
    if item.latest is not None:
        parts.append(f"{name} <= {as_parameter(value_literal('timestamp', item.latest), name)}")
    return f"coalesce({' AND '.join(parts)}, true)" if parts else "true"


def verdict(judging: Judging) -> str:
    """The message of a row that is set aside, NULL for one that is accepted."""
    cases = []
    for item in judging:
        name = quoted(item.name)
        if item.type in ("float", "double"):
            cases.append(f"WHEN abs({name}) = double('Infinity') THEN '{INFINITE}'")
        if item.latest is not None:
            cases.append(f"WHEN NOT {_possible(item)} THEN '{FUTURE}'")
    for item in judging:
        if item.line is not None:
            waterline = as_parameter(value_literal(item.type, item.line), quoted(item.name))
            cases.append(f"WHEN {_line(item)} < {waterline} THEN '{LATE}'")
    return f"CASE {' '.join(cases)} END" if cases else "CAST(NULL AS STRING)"
