"""The properties of an output to PostgreSQL."""

from __future__ import annotations

from penstock.sources.postgres.connection import CONNECTION, PASSWORD, check_table
from penstock.sources.properties import Property

TABLE = Property(
    "table",
    "The table, as `schema.table`, with double quotes around a part that holds a dot; without it that of the view's "
    "name.",
    takes="schema.table",
    check=check_table,
)
CREATE = Property("create", "Whether the table is made if there is none.", "false", ("true", "false"))
PROPERTIES = (CONNECTION, PASSWORD, TABLE, CREATE)
