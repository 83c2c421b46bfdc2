"""The declaration of a table of Delta Lake."""

from __future__ import annotations

from penstock.sources.lake.declared import PROPERTIES as OF_LAKES
from penstock.sources.properties import Property

PATH = Property(
    "path", "The folder of the table, or its address in an object store.", takes="a folder or address", required=True
)

PROPERTIES = (PATH, *OF_LAKES)
