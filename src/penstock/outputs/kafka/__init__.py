"""The connector kafka as an output: a topic, in which each step is one transaction.

The step's number is committed in the same transaction, as the offset of a group of the output's own. So a reader of
committed messages sees each step once, and whoever opens the output again asks the broker which step it has. Where no
more than at least once is asked for, the number is committed behind the messages.

| module | what it does |
| --- | --- |
| `declared` | its properties |
| `writing` | a step's change as messages, with keys that keep their order |
| `claims` | whose a topic is |
| `receiver` | a step as one transaction, or as messages and then its number |
| `upsert` | the connector upsert-kafka |
"""

from __future__ import annotations

from penstock.errors import Diagnostic, SqlError
from penstock.outputs.forms import Form
from penstock.outputs.kafka.declared import (
    DELIVERY,
    FORMAT,
    PROPERTIES,
    SHARED,
    TOPIC,
    is_shared,
    is_transactional,
    style_of,
)
from penstock.outputs.kafka.receiver import TopicReceiver, opened
from penstock.outputs.receiver import Owner
from penstock.outputs.sink import Sink
from penstock.sources.kafka.declared import servers_of

__all__ = ["CHOSEN", "FORMS", "PROPERTIES", "check_sink", "open_receiver", "target_of", "weakness_of"]

FORMS = (Form.APPEND, Form.UPSERT, Form.CHANGELOG, Form.RETRACT)
CHOSEN = (Form.APPEND, Form.UPSERT, Form.CHANGELOG)


def check_sink(sink: Sink, form: Form) -> None:
    """SqlError without a broker, and for a format that cannot say the form."""
    if not servers_of(sink.properties):
        hint = "'bootstrap.servers' = 'localhost:9092'"
        message = f"{sink.what}: the connector needs 'bootstrap.servers'"
        raise SqlError(Diagnostic("MISSING_PROPERTY", message, sink.span, hint=hint), sink.source)
    if style_of(sink) != "json" and form is not Form.CHANGELOG:
        message = f"{sink.what}: '{FORMAT.name}' = '{style_of(sink)}' is a changelog, and the form is {str(form)!r}"
        raise SqlError(Diagnostic("BAD_PROPERTY", message, sink.span, hint="add 'form' = 'changelog'"), sink.source)
    if is_shared(sink) and form is not Form.APPEND:
        message = f"{sink.what}: '{SHARED.name}' is for rows that are only added, and the form is {str(form)!r}"
        hint = "what is said of a key, or taken back, is one pipeline's to say: give each a topic of its own"
        raise SqlError(Diagnostic("BAD_PROPERTY", message, sink.span, hint=hint), sink.source)


def target_of(sink: Sink) -> str:
    """The topic and its brokers."""
    return f"topic {TOPIC.value(sink)} at {servers_of(sink.properties)}"


def weakness_of(sink: Sink) -> str | None:
    """None if a step and its number are one transaction; else that it is not wanted."""
    return None if is_transactional(sink) else f"'{DELIVERY.name}' asks for no more"


def open_receiver(sink: Sink, form: Form, owner: Owner) -> TopicReceiver:
    """The topic, this pipeline's own so far as outputs of this name write into it."""
    return opened(sink, form, owner)
