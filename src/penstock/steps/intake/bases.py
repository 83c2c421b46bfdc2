"""The rows of a table that are not at hand, from the process to the executors, and back."""

from __future__ import annotations

from penstock.backends.api import Relations, Stored
from penstock.backends.columns import in_arrow
from penstock.backends.native.stored import ProcessRows
from penstock.catalog.model import Table


def move_base(relations: Relations, table: Table, one: Stored, other: Stored) -> None:
    """Have the rows of one in another, which has none; there is nothing left of the first if it was in the process."""
    if one.is_empty:
        return
    if isinstance(one, ProcessRows):
        other.append(one.arrow())
        one.drop()
        return
    weighted = one.weighted()
    if weighted is not None:
        other.append(in_arrow(table, relations.change_from(weighted).arrow()))
