"""The declaration of a topic that is written; looks at nothing outside."""

from __future__ import annotations

from dataclasses import replace

from penstock.outputs.sink import Sink
from penstock.sources.kafka.declared import PASSED_ON, SERVERS
from penstock.sources.kafka.declared import TOPIC as READ
from penstock.sources.properties import Property

FORMATS = ("json", "debezium", "debezium-json")
TOPIC = replace(READ, about="The topic; it has to be there.", takes="a name, as in 'totals'", required=True)
FORMAT = Property(
    "format",
    "The format of a message's value: JSON, or of a changelog Debezium's envelope, where a row that replaces one is "
    "one message.",
    "json",
    FORMATS,
)
VALUE_FORMAT = Property("value.format", "Flink's name for `format`.", values=FORMATS)
KEY_FORMAT = Property("key.format", "The format of a message's key: a JSON object.", "json", ("json",))
PROPERTIES = (TOPIC, SERVERS, PASSED_ON, FORMAT, VALUE_FORMAT, KEY_FORMAT)


def style_of(sink: Sink) -> str:
    """The name of the format."""
    return VALUE_FORMAT.value(sink) or FORMAT.value(sink)
