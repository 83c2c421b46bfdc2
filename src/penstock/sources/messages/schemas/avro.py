"""Values of Avro: records, or of a key also a value alone, as the record of its one column."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from penstock.catalog.model import Table
from penstock.sources.formats.avro.kinds import kinds_of_fields
from penstock.sources.formats.avro.schema import AvroSchema, BadRecordError, BadSchemaError, avro_schema
from penstock.sources.formats.rows import refuse_record
from penstock.sources.messages.keys import Tell
from penstock.sources.messages.schemas.framed import unframed
from penstock.sources.messages.schemas.registry import Registry, UnknownSchemaError


@dataclass
class AvroValues:
    """Reads the values of one table by one schema, or by those of a registry.

    `tell` is told of the types of fields that the table lacks, of the record `within` a field if one is said, before a
    value that has them. `column` is the name under which a value alone is the field of a record; without it there must
    be records.
    """

    table: Table
    schema: AvroSchema | None = None
    registry: Registry | None = None
    column: str | None = None
    tell: Tell | None = None
    within: str = ""
    _known: dict[int, AvroSchema | str] = field(default_factory=dict)
    _beyond: dict[int, Mapping[str, str]] = field(default_factory=dict)

    def __call__(self, data: bytes, place: str) -> Mapping[str, Any]:
        """The record of a value; DataError for what is none of its schema."""
        if self.schema is not None:
            return self._record(self.schema, data, place)
        number, value = unframed(self.table, data, place)
        return self._record(self._numbered(number, place), value, place, number)

    def _record(self, schema: AvroSchema, data: bytes, place: str, number: int | None = None) -> Mapping[str, Any]:
        if self.tell is not None:
            self._told(schema, self.tell)
        stream = io.BytesIO(data)
        of = "" if number is None else f" (schema {number})"
        try:
            found = schema.record(stream)
        except BadRecordError as error:
            refuse_record(self.table, place, f"{error}{of}")
        left = len(data) - stream.tell()
        if left:
            refuse_record(self.table, place, f"{left} bytes are left behind the record{of}")
        return found

    def _told(self, schema: AvroSchema, tell: Tell) -> None:
        """Tell of the fields of a schema that the table lacks, which are found once for each schema."""
        if id(schema) not in self._beyond:
            kinds = kinds_of_fields(schema.declared, self.within)
            self._beyond[id(schema)] = {name: kind for name, kind in kinds.items() if self.table.column(name) is None}
        if beyond := self._beyond[id(schema)]:
            tell(beyond)

    def _numbered(self, number: int, place: str) -> AvroSchema:
        if number not in self._known:
            assert self.registry is not None  # noqa: S101 - without a schema there is one
            try:
                self._known[number] = self._read(self.registry.avro(number).text)
            except UnknownSchemaError as error:
                refuse_record(self.table, place, f"its schema is {number}, and {error}")
            except BadSchemaError as error:
                self._known[number] = f"its schema is {number}: {error}"
        known = self._known[number]
        if isinstance(known, str):
            refuse_record(self.table, place, known)
        return known

    def _read(self, text: str | bytes) -> AvroSchema:
        return avro_schema(text if self.column is None else _as_record(text, self.column))


def _as_record(text: str | bytes, column: str) -> str | bytes:
    """The schema of a value alone as that of a record with one field, whose bytes are the same."""
    try:
        declared = json.loads(text)
    except ValueError:
        return text
    if isinstance(declared, Mapping) and declared.get("type") in ("record", "error"):
        return text
    return json.dumps({"type": "record", "name": "key", "fields": [{"name": column, "type": declared}]})
