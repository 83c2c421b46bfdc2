"""The position up to which a stream has been read, as a value that a step's manifest keeps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

BROKEN = "broken"  # in a manifest: the content of a stream that cannot be read on behind a position
IDENTITY = "of"  # in a manifest: what the thing is in which a position is one

Tail = Literal["", "cr", "half", "skipped"]


@dataclass(frozen=True, slots=True)
class Position:
    r"""A place between two records.

    offset    bytes before it (of Parquet: rows; of a compressed file: bytes once it is unpacked)
    lines     lines before it, for the place of a row; of Parquet: rows
    header    the names in a CSV header, once it has been read
    tail      how the last record ended: '' by a line end; 'cr' by a CR that an LF may follow; 'half' without any,
              as the last of a file that was taken as complete; 'skipped' in the midst of a line that is left out
    """

    offset: int = 0
    lines: int = 0
    header: tuple[str, ...] | None = None
    tail: Tail = ""

    def to_json(self) -> dict[str, Any]:
        """As a manifest has it; what is not said is as at the beginning."""
        found: dict[str, Any] = {"offset": self.offset, "lines": self.lines}
        if self.header is not None:
            found["header"] = list(self.header)
        if self.tail:
            found["tail"] = self.tail
        return found


def position_of(value: Mapping[str, Any]) -> Position:
    """The position that a manifest has."""
    header = value.get("header")
    return Position(value["offset"], value["lines"], None if header is None else tuple(header), value.get("tail", ""))
