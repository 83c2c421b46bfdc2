"""The connector sql: a table or query of a database, asked again and again for the rows above a growing column's last.

    WITH ('connector' = 'sql', 'url' = 'sqlite:shop.db', 'table' = 'orders', 'column' = 'id')

PostgreSQL, SQLite and DuckDB are asked by their clients in the process; each is a `databases.Reading`. All others are
asked by SQLAlchemy.

| module | what it holds |
| --- | --- |
| `declared` | what a table may say of it |
| `databases` | a database as it is asked: its address, its client, its words |
| `anywhere` | any other database, by SQLAlchemy |
| `source` | the rows of a table: asked for, taken back, asked for again |
"""

from __future__ import annotations

from datetime import tzinfo
from typing import TYPE_CHECKING

from penstock.catalog.model import Table
from penstock.sources.polled.declared import PROPERTIES, check

if TYPE_CHECKING:
    from penstock.sources.polled.source import PolledSource
    from penstock.steps.intake.inputs import MakeReader

__all__ = ["PROPERTIES", "check", "open_source"]


def open_source(table: Table, readers: MakeReader, zone: tzinfo) -> PolledSource:  # noqa: ARG001
    """The source; it reaches the database when it is first read."""
    from penstock.sources.polled.source import opened  # noqa: PLC0415 - the clients take long to import

    return opened(table, readers)
