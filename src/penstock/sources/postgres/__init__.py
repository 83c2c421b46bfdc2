"""The connector postgres as a source: a table of PostgreSQL as it was, and then each change, by logical decoding.

    before        COPY into a file, in a snapshot that a new slot has exported
    first steps   the rows of the file, some in each                         position: a row of the file
    then          pg_logical_slot_peek_binary_changes, pgoutput              position: the end of a transaction
    committed     the slot is advanced to the position; until then the same is read again

| module | what it holds |
| --- | --- |
| `connection` | how a database is reached, tables by their names, and its errors as ours without any secret |
| `declared` | the properties of the source |
| `origin` | the cluster and the timeline in which a position is one |
| `position` | how far a table has been read |
| `columns` | the columns of a table, and those that it has beyond the table here |
| `messages` | the messages of pgoutput |
| `values` | the text of a value as what a row reader takes |
| `slot` | publication and slot: made, found, advanced, lost |
| `copying` | the making of a copy: slot, snapshot, file |
| `copied` | the rows of a copy |
| `decoding` | messages as rows |
| `source` | the rows of a table |
"""

from __future__ import annotations

from datetime import tzinfo

from penstock.catalog.model import Table
from penstock.sources.api import TableSource
from penstock.sources.postgres.declared import PROPERTIES, check
from penstock.steps.intake.inputs import MakeReader

__all__ = ["PROPERTIES", "check", "open_source"]


def open_source(table: Table, readers: MakeReader, zone: tzinfo) -> TableSource:
    """The source that a table's properties describe; DataError for what is no address of a database."""
    from penstock.sources.postgres.source import PostgresSource, opened  # noqa: PLC0415 - takes long to import, which `check` need not wait for

    del zone
    source: PostgresSource = opened(table, readers)
    return source
