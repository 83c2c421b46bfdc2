"""The properties of a source that is a table of PostgreSQL."""

from __future__ import annotations

import re

from penstock.catalog.model import Table
from penstock.catalog.properties import value_place
from penstock.errors import Diagnostic, SqlError
from penstock.sources.formats.declared import ON_ERROR
from penstock.sources.postgres.connection import CONNECTION, PASSWORD, check_table
from penstock.sources.properties import ON_REPLACED, Property, check_duration

_SLOT = re.compile(r"[a-z0-9_]{1,63}")


def _check_slot(text: str) -> str | None:
    return None if _SLOT.fullmatch(text) else "it is no name of a slot: small letters, digits and _, 63 at most"


TABLE = Property(
    "table",
    "The table, as `schema.table`, with double quotes around a part that holds a dot; without it that of the same "
    "name.",
    takes="schema.table",
    check=check_table,
)
PUBLICATION = Property(
    "publication", "The publication that has the table, made if there is none; `penstock_` and the table's name."
)
SLOT = Property(
    "slot", "The replication slot; `penstock_` and the table's name.", takes="a name of a slot", check=_check_slot
)
EXISTING = Property(
    "on_existing_slot",
    "When a pipeline begins anew and its slot is there already: the run stops, or the slot is dropped, and with it "
    "what another pipeline would still have read from it.",
    "fail",
    ("fail", "replace"),
)
TRUNCATE = Property(
    "on_truncate",
    "When the table is truncated, which says nothing of the rows that go: the run stops, or the rows stay here.",
    "fail",
    ("fail", "ignore"),
)
TIMEOUT = Property(
    "timeout",
    "How long a database that does not answer is tried again.",
    "1 minute",
    takes="an interval as in '10 seconds'",
    check=check_duration,
)
UNKNOWN_COLUMNS = Property(
    "unknown_columns",
    "Columns of the database's table that this one lacks are left out, or end the run before the first row that has "
    "them, or the table gets them, as by `ALTER TABLE … ADD COLUMNS`, with the step that first has a value of them "
    "(`'add'`: of a table with a PRIMARY KEY, a stream or one that is `append_only`).",
    "ignore",
    ("ignore", "reject", "add"),
)
PROPERTIES = (
    CONNECTION,
    PASSWORD,
    TABLE,
    PUBLICATION,
    SLOT,
    EXISTING,
    TRUNCATE,
    TIMEOUT,
    ON_REPLACED,
    ON_ERROR,
    UNKNOWN_COLUMNS,
)


def check(table: Table) -> None:
    """SqlError for columns that a table without a key would get: its rows are found by all that they have."""
    if UNKNOWN_COLUMNS.value(table) == "add" and not table.key and not table.append_only:
        message = f"table {table.name}: '{UNKNOWN_COLUMNS.name}' = 'add' is for a table with a PRIMARY KEY"
        place = value_place(table, UNKNOWN_COLUMNS.name)
        hint = "deletions go by the whole row without one, and rows of before have no value in a column that is added"
        raise SqlError(Diagnostic("BAD_PROPERTY", message, place, hint=hint))


def slot_of(table: Table) -> str:
    """The name of the slot."""
    return SLOT.value(table) or "penstock_" + re.sub(r"[^a-z0-9_]", "_", table.name.lower())[:54]


def publication_of(table: Table) -> str:
    """The name of the publication."""
    return PUBLICATION.value(table) or f"penstock_{table.name.lower()}"[:63]
