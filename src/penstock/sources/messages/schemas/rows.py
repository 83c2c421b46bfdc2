"""One row from each value that is read by a schema."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from penstock.catalog.model import Table
from penstock.sources.messages.keys import Decode, deleted_by
from penstock.steps.rows.batch import INSERT, Operated


@dataclass
class DecodedMessages:
    """The formats avro and protobuf: a value is a row."""

    table: Table
    name: str
    decode: Decode
    in_bulk: bool = False

    def at_once(self, values: Sequence[bytes]) -> pa.Table | None:  # noqa: ARG002
        """None: each value may have a schema of its own."""
        return None

    def rows(self, value: bytes, place: str) -> Sequence[Operated]:
        """The row of one value."""
        return (Operated(INSERT, self.decode(value, place)),)

    def emptied(self, key: Mapping[str, Any] | None, place: str) -> Sequence[Operated]:
        """The deletion of what has its key."""
        return deleted_by(self.table, key, place)
