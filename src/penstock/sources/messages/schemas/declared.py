"""The declaration of the schemas by which a table's messages are read; loads no library."""

from __future__ import annotations

from penstock.catalog.model import Table
from penstock.errors import Diagnostic, SqlError
from penstock.sources.properties import Property

BY_NUMBER = ("avro-confluent", "protobuf-confluent", "debezium-avro-confluent")
BY_FILE = ("avro", "protobuf")
FORMATS = (*BY_FILE, *BY_NUMBER)

REGISTRY = Property(
    "schema.registry.url",
    "The schema registry of the formats `…-confluent`: an address, or a folder with a file for each schema, named by "
    "its number: `17.avsc`, or `17.desc` as `protoc --include_imports --descriptor_set_out` writes it.",
    takes="as in 'http://registry:8081', or a folder",
)
USER = Property(
    "schema.registry.basic-auth.user-info",
    "Who asks the registry.",
    takes="as in 'name:${env:REGISTRY_PASSWORD}'",
)
AVRO_SCHEMA = Property(
    "avro.schema", "With `'avro'`: the schema of all messages.", takes="a file, or the schema itself"
)
DESCRIPTOR = Property(
    "protobuf.descriptor",
    "With `'protobuf'`: the schema of all messages, as `protoc --include_imports --descriptor_set_out` writes it.",
    takes="a file",
)
MESSAGE = Property(
    "protobuf.message", "With `'protobuf'`: which message of the schema they are.", takes="as in 'shop.Order'"
)

PROPERTIES = (REGISTRY, USER, AVRO_SCHEMA, DESCRIPTOR, MESSAGE)
_NEEDED = {"avro": (AVRO_SCHEMA,), "protobuf": (DESCRIPTOR, MESSAGE)}


def check_schemas(table: Table, styles: tuple[str, ...]) -> None:
    """SqlError for formats whose schema is not said."""
    for style in styles:
        needed = (REGISTRY,) if style in BY_NUMBER else _NEEDED.get(style, ())
        for item in needed:
            if not table.properties.get(item.name):
                message = f"table {table.name}: the format {style} needs '{item.name}'"
                raise SqlError(Diagnostic("MISSING_PROPERTY", message, table.span, hint=f"it takes {item.takes}"))
