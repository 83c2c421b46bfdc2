"""Rows that a store may forget, because time tells that nobody asks for them any more."""

from __future__ import annotations

from penstock.backends.rows import Row
from penstock.catalog.model import Table
from penstock.steps.intake.lateness import TableLateness, comparable_value


def forgets(table: Table) -> bool:
    """True if keys of the table are dropped: nobody asks for its content, and time tells the keys that are over."""
    key = {name.lower() for name in table.key}
    bounded = {column.name.lower() for column in table.columns if column.lateness is not None and column.lateness.drops}
    late = bool(bounded & key)
    return late and table.history.lower() == "none"


def is_late(row: Row | None, lateness: TableLateness) -> bool:
    """True if a stored row is below some waterline."""
    return row is not None and lateness.late(
        {item.place: comparable_value(row[item.place]) for item in lateness.columns}
    )
