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
_ONCE, _AT_LEAST = "exactly-once", "at-least-once"
DELIVERY = Property(
    "sink.delivery-guarantee",
    "Whether each step is one transaction. `'at-least-once'` writes without: what a step writes is seen as it is "
    "written, and again where the process ends in between.",
    _ONCE,
    (_ONCE, _AT_LEAST),
)
SHARED = Property(
    "shared",
    "Whether other pipelines may write into the topic too. All of them have to say so, and to add rows only.",
    "false",
    ("true", "false"),
)
PROPERTIES = (TOPIC, SERVERS, PASSED_ON, FORMAT, VALUE_FORMAT, KEY_FORMAT, DELIVERY, SHARED)


def style_of(sink: Sink) -> str:
    """The name of the format."""
    return VALUE_FORMAT.value(sink) or FORMAT.value(sink)


def is_shared(sink: Sink) -> bool:
    """True if other pipelines may write into the topic too."""
    return SHARED.value(sink) == "true"


def is_transactional(sink: Sink) -> bool:
    """True if each step is to be one transaction."""
    return DELIVERY.value(sink) == _ONCE
