"""The declaration of the messages that a table reads; loads no format."""

from __future__ import annotations

from dataclasses import replace

from penstock.catalog.model import Table
from penstock.sources.formats import declared as formats
from penstock.sources.messages.schemas import declared as schemas
from penstock.sources.properties import Property

CHANGES = ("canal-json", "maxwell-json", "ogg-json")
FORMATS = ("json", "csv", "raw", "debezium", "debezium-json", *CHANGES, "upsert", *schemas.FORMATS)
UPSERT = "upsert"
KEY_FORMATS = ("json", "raw", "avro-confluent", "protobuf-confluent")

FORMAT = Property(
    "format",
    "The format of a message's value. `'upsert'` is JSON where a message without a value deletes the row of its key; "
    "`'debezium'` (or `'debezium-json'`) is Debezium's envelope, and "
    "`'canal-json'`, `'maxwell-json'` and `'ogg-json'` are those of others; `'raw'` the value as it is, in the one "
    "column for it; "
    "`…-confluent` is with the number of its schema, which a registry knows.",
    "json",
    FORMATS,
)
VALUE_FORMAT = Property("value.format", "Flink's name for `format`.", values=FORMATS)
KEY_FORMAT = Property(
    "key.format",
    "The format of a message's key: JSON (an object, or the value of the only column), `'raw'`, its text or bytes, or "
    "with the number of its schema.",
    "json",
    KEY_FORMATS,
)
KEY_FIELDS = Property(
    "key.fields",
    "The columns that the key holds; of `'upsert'` those of the PRIMARY KEY. Without it keys are not read.",
    takes="names, as in 'a;b'",
)
FIELDS_INCLUDE = Property(
    "value.fields-include",
    "Whether the value has the key's columns too. What the key says counts.",
    "all",
    ("all", "except_key"),
)

UNKNOWN_COLUMNS = replace(
    formats.UNKNOWN_COLUMNS,
    about="Columns of the message that the table lacks are left out, or the message is rejected, or the table gets "
    "them, as by `ALTER TABLE … ADD COLUMNS`, with the step that first has a value of them (`'add'`: of "
    "what names its columns, which CSV without a header and `'raw'` do not).",
    limited=("add", tuple(name for name in FORMATS if name not in ("csv", "raw"))),
)

PROPERTIES = (
    FORMAT,
    VALUE_FORMAT,
    KEY_FORMAT,
    KEY_FIELDS,
    FIELDS_INCLUDE,
    *schemas.PROPERTIES,
    *(item for item in formats.PROPERTIES if item not in (formats.FORMAT, formats.UNKNOWN_COLUMNS, formats.HEADER)),
    UNKNOWN_COLUMNS,
)


def style_of(table: Table) -> str:
    """The name of the format of a table's messages, in lower case."""
    return VALUE_FORMAT.value(table) or FORMAT.value(table)


def key_fields(table: Table) -> tuple[str, ...]:
    """The columns that `'key.fields'` names, as the table has them where it does."""
    named = [name.strip() for name in table.properties.get(KEY_FIELDS.name, "").replace(",", ";").split(";")]
    return tuple(getattr(table.column(name), "name", name) for name in named if name)
