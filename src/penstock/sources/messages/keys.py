"""The key of a message: the columns that it holds, and what a message without a value says of them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from penstock.catalog.model import Table
from penstock.sources.formats.connect import Connect
from penstock.sources.formats.rows import refuse_record, utf8
from penstock.steps.rows.batch import DELETE, Operated

Decode = Callable[[bytes, str], Mapping[str, Any]]
# Is told of columns that the table lacks, with the types that a schema says.
Tell = Callable[[Mapping[str, str]], None]


@dataclass(frozen=True)
class KeyFormat:
    """The columns of a table that the key of a message holds: as JSON, or as the bytes or text of the only one.

    `decode` reads it where it has a schema.
    """

    table: Table
    columns: tuple[str, ...]
    style: str
    decode: Decode | None = None

    @cached_property
    def _connect(self) -> Connect:
        return Connect(self.table)

    def read(self, key: bytes | None, place: str) -> dict[str, Any]:
        """The values of the columns; DataError for a key that is none."""
        if key is None:
            refuse_record(self.table, place, f"it has no key, which holds {', '.join(self.columns)}")
        if self.decode is not None:
            return self._fields(self.decode(key, f"{place}, key"), place)
        return self._raw(key, place) if self.style == "raw" else self._json(key, place)

    def _raw(self, key: bytes, place: str) -> dict[str, Any]:
        (name,) = self.columns
        column = self.table.column(name)
        binary = column is not None and column.type.lower() == "binary"
        return {name: key if binary else utf8(self.table, key, f"{place}, key")}

    def _json(self, key: bytes, place: str) -> dict[str, Any]:
        text = utf8(self.table, key, f"{place}, key")
        try:
            value = json.loads(text)
        except (ValueError, RecursionError) as error:
            refuse_record(self.table, f"{place}, key", f"not JSON: {error}; 'key.format' = 'raw' takes it as it is")
        envelope = self._connect.opened(value)
        if envelope is not None:
            plain = not isinstance(envelope.payload, Mapping)
            value = (
                self._connect.value(envelope, self.columns[0])
                if plain
                else self._connect.meant(envelope.schema, envelope.payload)
            )
        if isinstance(value, Mapping):
            return self._fields(value, place)
        if len(self.columns) > 1:
            refuse_record(self.table, f"{place}, key", f"expected a JSON object with {', '.join(self.columns)}")
        return {self.columns[0]: value}

    def _fields(self, value: Any, place: str) -> dict[str, Any]:
        if not isinstance(value, Mapping):
            return self._fields({self.columns[0]: value}, place)
        given = {str(name).lower(): item for name, item in value.items()}
        missing = [name for name in self.columns if name.lower() not in given]
        if missing:
            refuse_record(self.table, f"{place}, key", f"it lacks {missing[0]}")
        return {name: given[name.lower()] for name in self.columns}


def deleted_by(table: Table, key: Mapping[str, Any] | None, place: str) -> Sequence[Operated]:
    """The deletion of the row that a message without a value means; DataError if nothing says which."""
    if key is None:
        what = "it has no value; with 'format' = 'upsert' and a PRIMARY KEY that deletes the row of its key"
        refuse_record(table, place, what)
    return (Operated(DELETE, dict(key)),)
