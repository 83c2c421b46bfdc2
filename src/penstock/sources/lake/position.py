"""The position up to which a lake's table has been read, as a value that a step's manifest keeps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class LakePosition:
    """Behind a version; or, while its content is read for the first time, before a row of one of its parts."""

    version: int
    part: int | None = None
    row: int = 0

    def to_json(self) -> dict[str, int]:
        """As a manifest has it."""
        found = {"version": self.version}
        return found if self.part is None else {**found, "part": self.part, "row": self.row}


def position_of(value: Mapping[str, Any]) -> LakePosition:
    """The position that a manifest has."""
    return LakePosition(value["version"], value.get("part"), value.get("row", 0))
