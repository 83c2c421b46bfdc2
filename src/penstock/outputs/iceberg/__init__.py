"""The connector iceberg as an output: a table of Iceberg that is added to, or whose rows follow the view's by key.

A step and its number are one commit to the catalog: the table's properties have the last step of each output, and
`penstock.output` says whose the table is.

| module | what it does |
| --- | --- |
| `receiver` | a step as one commit: an append, or deletions by key and an append |
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.outputs.forms import Form
from penstock.outputs.sink import Sink
from penstock.sources.iceberg.declared import CATALOG, CATALOG_PROPERTIES
from penstock.sources.properties import Property

if TYPE_CHECKING:
    from penstock.outputs.iceberg.receiver import IcebergReceiver
    from penstock.outputs.receiver import Owner

__all__ = ["CHOSEN", "FORMS", "PROPERTIES", "check_sink", "open_receiver", "target_of", "weakness_of"]


def _check_name(text: str) -> str | None:
    return None if all(text.split(".")) and "." in text else "it is no name with its namespace"


TABLE = Property(
    "table",
    "The table's name in its catalog; it is made, and its namespace, if there is none.",
    takes="a name with its namespace, as in 'shop.totals'",
    check=_check_name,
    required=True,
)
PROPERTIES = (TABLE, CATALOG, CATALOG_PROPERTIES)
FORMS = (Form.APPEND, Form.UPSERT)
CHOSEN = (Form.APPEND, Form.UPSERT)


def check_sink(sink: Sink, _form: Form) -> None:
    """SqlError for types that tables of lakes do not have."""
    from penstock.outputs.lake.fitting import check_types  # noqa: PLC0415 - takes long to import

    check_types(sink)


def target_of(sink: Sink) -> str:
    """The table, and its catalog."""
    return f"the Iceberg table {TABLE.value(sink)} of the catalog {CATALOG.value(sink)}"


def weakness_of(_sink: Sink) -> str | None:
    """None: a step and its number are one commit."""
    return None


def open_receiver(sink: Sink, form: Form, owner: Owner) -> IcebergReceiver:
    """The table, this pipeline's own."""
    from penstock.outputs.iceberg.receiver import opened  # noqa: PLC0415 - takes long to import

    return opened(sink, form, owner)
