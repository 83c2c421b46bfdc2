"""The reading of a table's values, or keys, by a schema: what its properties name."""

from __future__ import annotations

from pathlib import Path

from penstock.catalog.model import Table
from penstock.errors import DataError, Diagnostic
from penstock.sources.formats.avro.schema import AvroSchema, BadSchemaError, avro_schema
from penstock.sources.messages.keys import Decode, Tell
from penstock.sources.messages.schemas.avro import AvroValues
from penstock.sources.messages.schemas.declared import AVRO_SCHEMA, DESCRIPTOR, MESSAGE
from penstock.sources.messages.schemas.protobuf import ProtobufMessages, kind_in_file
from penstock.sources.messages.schemas.registry import registry_of


def decoding(table: Table, style: str, patience: float, column: str | None = None, tell: Tell | None = None) -> Decode:
    """A function that makes a mapping of bytes: of a key of one `column` a value alone too. DataError without one.

    `tell` is told of the columns beyond the table's, where it is to get them.
    """
    what = f"table {table.name}"
    match style:
        case "avro":
            return AvroValues(table, _schema(table), column=column, tell=tell)
        case "protobuf":
            kind = kind_in_file(table, DESCRIPTOR.value(table), MESSAGE.value(table))
            return ProtobufMessages(table, kind, tell=tell)
        case "protobuf-confluent":
            return ProtobufMessages(table, registry=registry_of(table, what, patience), tell=tell)
        case _:
            within = "after" if style == "debezium-avro-confluent" and column is None else ""
            return AvroValues(table, None, registry_of(table, what, patience), column, tell, within)


def _schema(table: Table) -> AvroSchema:
    given = AVRO_SCHEMA.value(table)
    try:
        text = given if given.lstrip().startswith("{") else Path(given).read_text(encoding="utf-8")
        return avro_schema(text)
    except (OSError, BadSchemaError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error)
        message = f"table {table.name}: '{AVRO_SCHEMA.name}' = {given[:100]!r}: {why}"
        raise DataError(Diagnostic("BAD_PROPERTY", message, table.span, hint=AVRO_SCHEMA.takes)) from None
