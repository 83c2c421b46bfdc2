"""The position in a table of PostgreSQL, as a value that a step's manifest keeps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from penstock.sources.postgres.messages import lsn_number, lsn_text


@dataclass(frozen=True, slots=True)
class SlotPosition:
    """Behind the transaction that ends at `lsn`; `columns` are those that are read, with their types, as they were.

    While the copy of the table is read, `lsn` is where the slot begins: so many rows `of` the copy have been read,
    which are so many bytes of its file. `row` is None behind the copy.
    """

    lsn: int
    columns: Mapping[str, int]
    row: int | None = None
    byte: int = 0
    of: int = 0

    def to_json(self) -> dict[str, Any]:
        """As a manifest has it."""
        found = {"lsn": lsn_text(self.lsn), "columns": dict(self.columns)}
        return found if self.row is None else {"row": self.row, "of": self.of, "byte": self.byte, **found}


def position_of(value: Mapping[str, Any]) -> SlotPosition:
    """The position that a manifest has."""
    lsn, columns = lsn_number(value["lsn"]), dict(value["columns"])
    return SlotPosition(lsn, columns, value.get("row"), value.get("byte", 0), value.get("of", 0))
