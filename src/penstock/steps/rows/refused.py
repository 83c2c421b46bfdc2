"""Rows that a step goes without because an expression of a view raises for them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from penstock.backends.rows import Key
from penstock.catalog.model import Table
from penstock.steps.rows.rejected import EVALUATION, Rejections, row_json


@dataclass(frozen=True, slots=True)
class Reason:
    """The view whose expression raises (None: it is not known), and what it says."""

    view: str | None
    error: str


_NONE: Mapping[tuple[str, Key], Reason] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Refused:
    """The reasons by table and identity of the row: what is inserted, what an operation on a key leads to (`gone`)."""

    reasons: Mapping[tuple[str, Key], Reason] = field(default_factory=lambda: _NONE)

    def __bool__(self) -> bool:
        return bool(self.reasons)

    def of(self, table: Table) -> dict[Key, Reason]:
        """The reasons of one table's rows."""
        name = table.name.lower()
        return {identity: reason for (owner, identity), reason in self.reasons.items() if owner == name}

    def and_also(self, found: Mapping[tuple[str, Key], Reason]) -> Refused:
        """With further rows."""
        return Refused(MappingProxyType({**self.reasons, **found}))


def gone(key: Key) -> Key:
    """A stand-in for the row of a key that is deleted."""
    return ("\0gone", *key)


def set_aside(rejections: Rejections, table: Table, reason: Reason, place: str | None, row: str) -> None:
    """Have `error_view` show a refused row; one that WATERMARK has held back has no place any more."""
    where = {} if place is None else {"place": place}
    rejections.add(reason.view or table.name, EVALUATION, row_json({**where, "error": reason.error, "row": row}))
