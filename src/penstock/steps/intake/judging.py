"""Lateness as Spark SQL: whether a row is late, and how far a change moves a waterline.

The same for what comes into a table, for the gate of a view and for rows that become final.
"""

from __future__ import annotations

from datetime import datetime

from penstock.backends.spark.parameters import as_parameter
from penstock.backends.waterlines import value_literal
from penstock.plan.scalar import quoted
from penstock.steps.intake.lateness import LateColumn, TableLateness
from penstock.steps.rows.rejected import FUTURE, INFINITE, LATE


def _line(item: LateColumn) -> str:
    """A LATENESS column as it compares with a waterline: NaN is NULL, a DATE its midnight."""
    name = quoted(item.column.name)
    if item.column.type in ("float", "double"):
        return f"nanvl({name}, CAST(NULL AS DOUBLE))"
    return f"CAST({name} AS TIMESTAMP_NTZ)" if item.column.type == "date" else name


def greatest_terms(lateness: TableLateness, clock: datetime) -> list[str]:
    """Terms for the greatest possible value of each LATENESS column, named `max <place>`."""
    return [f"{greatest_text(item, clock)} AS `max {item.place}`" for item in lateness.columns]


def greatest_text(item: LateColumn, clock: datetime) -> str:
    """Spark SQL for the greatest value of a LATENESS column that is neither infinite nor too far ahead."""
    return f"max(CASE WHEN {_possible(item, clock)} THEN {_line(item)} END)"


def _possible(item: LateColumn, clock: datetime) -> str:
    """A condition: the value is neither infinite nor too far ahead of the clock."""
    name, parts = quoted(item.column.name), []
    if item.column.type in ("float", "double"):
        parts.append(f"abs({name}) < double('Infinity')")
    limit = item.ahead.above(clock) if item.ahead is not None else None
    if limit is not None:
        parts.append(f"{name} <= {as_parameter(value_literal('timestamp', limit), name)}")
    return f"coalesce({' AND '.join(parts)}, true)" if parts else "true"


def verdict(lateness: TableLateness, clock: datetime) -> str:
    """The message of a row that is set aside, NULL for one that is accepted."""
    cases = []
    for item in lateness.columns:
        name = quoted(item.column.name)
        if item.column.type in ("float", "double"):
            cases.append(f"WHEN abs({name}) = double('Infinity') THEN '{INFINITE}'")
        if item.ahead is not None:
            cases.append(f"WHEN NOT {_possible(item, clock)} THEN '{FUTURE}'")
    for item in lateness.columns:
        limit = lateness.waterline(item).at
        if limit is not None:
            waterline = as_parameter(value_literal(item.column.type, limit), quoted(item.column.name))
            cases.append(f"WHEN {_line(item)} < {waterline} THEN '{LATE}'")
    return f"CASE {' '.join(cases)} END" if cases else "CAST(NULL AS STRING)"
