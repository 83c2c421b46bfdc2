"""The connector delta as an output: a table of Delta Lake that is added to, or whose rows follow the view's by key.

A step and its number are one commit: the table's log has the last step of each output as that of an application
(`txn`), and the table's property `penstock.output` says whose it is.

| module | what it does |
| --- | --- |
| `receiver` | a step as one commit: an append, or a MERGE by key |
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.outputs.forms import Form
from penstock.outputs.sink import Sink
from penstock.sources.delta.declared import PATH

if TYPE_CHECKING:
    from penstock.outputs.delta.receiver import DeltaReceiver
    from penstock.outputs.receiver import Owner

__all__ = ["CHOSEN", "FORMS", "PROPERTIES", "check_sink", "open_receiver", "target_of", "weakness_of"]

PROPERTIES = (PATH,)
FORMS = (Form.APPEND, Form.UPSERT)
CHOSEN = (Form.APPEND, Form.UPSERT)


def check_sink(sink: Sink, _form: Form) -> None:
    """SqlError for types that Delta does not have."""
    from penstock.outputs.lake.fitting import check_types  # noqa: PLC0415 - takes long to import

    check_types(sink)


def target_of(sink: Sink) -> str:
    """The table's folder."""
    return f"the Delta table {PATH.value(sink)}"


def weakness_of(_sink: Sink) -> str | None:
    """None: a step and its number are one commit."""
    return None


def open_receiver(sink: Sink, form: Form, owner: Owner) -> DeltaReceiver:
    """The table, this pipeline's own."""
    from penstock.outputs.delta.receiver import opened  # noqa: PLC0415 - takes long to import

    return opened(sink, form, owner)
