"""The declaration of a table of Delta Lake."""

from __future__ import annotations

import re

from penstock.sources.lake.declared import PROPERTIES as OF_LAKES
from penstock.sources.properties import Property

_NOT_READ = re.compile(r"%[0-9a-fA-F]{2}|[\\\x00-\x1f\x7f]")


def check_path(text: str) -> str | None:
    """The fault in a folder's path; None if there is none. An address says such characters by others."""
    if "://" in text.removeprefix("file://"):
        return None
    wrong = _NOT_READ.search(text)
    return None if wrong is None else f"deltalake reads another folder where a path has {wrong[0]!r}"


PATH = Property(
    "path",
    "The folder of the table, or its address in an object store.",
    takes="a folder or address; a folder without backslashes, line breaks, and % before two digits",
    check=check_path,
    required=True,
)

PROPERTIES = (PATH, *OF_LAKES)
