"""The declaration of a lake's table, whichever lake it is."""

from __future__ import annotations

from penstock.sources.formats.declared import EPOCH, ON_ERROR
from penstock.sources.properties import ON_REPLACED, Property

UNKNOWN_COLUMNS = Property(
    "unknown_columns",
    "Columns that the table of the lake has and this one lacks are left out, or end the run, or the table gets them, "
    "as by `ALTER TABLE … ADD COLUMNS`, with the step that first has a value of them.",
    "ignore",
    ("ignore", "reject", "add"),
    beside="ALTER TABLE … ADD COLUMN gives the table a column more",
)


def check_version(text: str) -> str | None:
    """The fault in a version; None if there is none."""
    return None if text.isascii() and text.isdigit() else "it is no version"


STARTING_VERSION = Property(
    "starting_version",
    "The version whose change is read first, as the versions behind it are. Without it the table's content is, and "
    "then the changes of the versions that follow.",
    takes="a number",
    check=check_version,
)

PROPERTIES = (STARTING_VERSION, ON_REPLACED, ON_ERROR, UNKNOWN_COLUMNS, EPOCH)
