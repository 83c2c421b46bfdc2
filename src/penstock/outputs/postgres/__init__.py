"""The connector postgres as an output: a table that is added to, or whose rows follow the view's by key.

A step and its number are one transaction: `penstock_steps`, beside the table, has the last step of each output.

| module | what it does |
| --- | --- |
| `declared` | its properties |
| `target` | the table: its columns, their types, its key; made where it is asked for |
| `steps` | the book of steps: whose a table is, and which step it has |
| `receiver` | a step as one transaction |
"""

from __future__ import annotations

from penstock.errors import DataError, Diagnostic, SqlError
from penstock.outputs.forms import Form
from penstock.outputs.postgres.declared import PROPERTIES, TABLE
from penstock.outputs.postgres.receiver import TableReceiver, opened
from penstock.outputs.receiver import Owner
from penstock.outputs.sink import Sink
from penstock.sources.postgres.connection import database_of, table_named

__all__ = ["CHOSEN", "FORMS", "PROPERTIES", "check_sink", "open_receiver", "target_of", "weakness_of"]

FORMS = (Form.APPEND, Form.UPSERT)
CHOSEN = (Form.APPEND, Form.UPSERT)


def check_sink(sink: Sink, _form: Form) -> None:
    """SqlError for what is no address of a database."""
    try:
        database_of(sink.properties, sink.what, opens=False)
    except DataError as error:
        found = error.diagnostics[0]
        raise SqlError(Diagnostic("BAD_PROPERTY", found.message, sink.span, hint=found.hint), sink.source) from None


def target_of(sink: Sink) -> str:
    """The table and its database."""
    table = table_named(TABLE.value(sink) or sink.name)
    return f"table {table} at {database_of(sink.properties, sink.what, opens=False).where}"


def weakness_of(_sink: Sink) -> str | None:
    """None: a step and its number are one transaction."""
    return None


def open_receiver(sink: Sink, form: Form, owner: Owner) -> TableReceiver:
    """The table, this pipeline's own."""
    return opened(sink, form, owner)
