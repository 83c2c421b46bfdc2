"""The greatest times of rows that a history lets go: above them it has all that ever came.

    {"at": datetime(…), "seen": None}       no row has a later `at`; `seen` is NULL in all of them

A column that is not there is not known, as one that was added after the rows. What lies in the log beside a change of a
table that keeps its rows for a time only says this of the change; of what has gone it is then added up.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from penstock.catalog.model import EVENT_TIME, Column, Table
from penstock.catalog.types import INTEGRAL, is_decimal, is_temporal
from penstock.steps.intake.lateness import comparable, later

Latest = Mapping[str, Any]


def is_limited(table: Table) -> bool:
    """True if a table keeps its rows for a time only."""
    return table.history.lower() not in ("all", "none")


def times_of(table: Table) -> list[Column]:
    """The columns that tell what has gone, the time of the rows first; the others are in their order."""
    return sorted(filter(_tells, table.columns), key=lambda item: (item.lateness is None, item.name != EVENT_TIME))


def _tells(column: Column) -> bool:
    exact = column.type in INTEGRAL or is_decimal(column.type)
    return is_temporal(column.type) or (exact and column.lateness is not None)


def latest_in(table: Table, pieces: Iterable[pa.Table]) -> Latest:
    """The greatest times in rows, by column in lower case."""
    found: Latest = {column.name.lower(): None for column in times_of(table)}
    for piece in pieces:
        found = together(found, {name: _greatest(piece, name) for name in piece.column_names if name.lower() in found})
    return found


def _greatest(rows: pa.Table, name: str) -> Any:
    values = rows.column(name)
    (found,) = comparable(pa.chunked_array([pa.array([pc.max(values)], values.type)]))
    return found


def together(one: Latest, other: Latest) -> Latest:
    """The greatest times in two lots of rows, of the columns that are known of both."""
    named = {name.lower(): value for name, value in other.items()}
    return {name: later(value, named[name]) for name, value in one.items() if name in named}
