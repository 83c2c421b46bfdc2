"""The connector http: rows that others push, by POST to a port of the pipeline's own, or that an address is asked for.

    CREATE TABLE orders (…) WITH ('connector' = 'http', 'listen' = '127.0.0.1:8080')
    curl -d '{"id": 1}' http://127.0.0.1:8080/orders                                   {"step": 12, "rows": 1, …}

    CREATE TABLE orders (…) WITH ('connector' = 'http', 'url' = 'https://shop/orders?after={id}')

| module | what it holds |
| --- | --- |
| `declared` | what a table may say of it |
| `cut` | a body as messages: JSON, lines of JSON, CSV |
| `requests` | requests that wait, and the keys of those that were taken |
| `server` | the HTTP server, one for all tables of an address |
| `source` | the rows that are pushed, and the answers once their step is durable |
| `address` | an address that is asked |
| `growing` | the column by which it is asked for more |
| `questions` | the questions that it is asked, and what their answers have |
| `asked` | the rows that an address has: above the last value of a column, or a document that has changed |
"""

from __future__ import annotations

from datetime import tzinfo
from typing import TYPE_CHECKING

from penstock.catalog.model import Table
from penstock.sources.http.declared import PROPERTIES, TIMEOUT, check_asked, check_listen, check_ways, is_asked
from penstock.sources.messages.choice import check_messages, rows_of
from penstock.sources.properties import duration

if TYPE_CHECKING:
    from penstock.sources.http.asked import AskedSource
    from penstock.sources.http.source import HttpSource
    from penstock.steps.intake.inputs import MakeReader

__all__ = ["PROPERTIES", "check", "open_source"]


def check(table: Table) -> None:
    """SqlError for what its properties cannot say together."""
    check_ways(table)
    (check_asked if is_asked(table) else check_listen)(table)
    check_messages(table, upserts=False)


def open_source(table: Table, readers: MakeReader, zone: tzinfo) -> HttpSource | AskedSource:
    """The source, which listens from now on, or asks when it is first read; DataError if it cannot."""
    from penstock.sources.http import asked, source  # noqa: PLC0415 - most programs need no server

    patience = duration(TIMEOUT.value(table)).total_seconds()
    rows = rows_of(table, readers, upserts=False)
    return asked.opened(table, rows, zone) if is_asked(table) else source.opened(table, rows, patience)
