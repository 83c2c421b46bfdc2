"""The client: its settings from a table's properties, and what its errors mean.

Whatever it says is freed of secrets before anybody sees it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from penstock.catalog.model import Table
from penstock.errors import DataError, Diagnostic, SqlError
from penstock.sources.kafka.declared import PASSED, SERVERS, TIMEOUT, servers_of
from penstock.sources.packages import package
from penstock.sources.properties import duration
from penstock.sources.secrets import expanded_all, masked, secret_values

if TYPE_CHECKING:
    from confluent_kafka import Consumer

_LOGGER = logging.getLogger("penstock.kafka")
_LOGGER.addHandler(logging.NullHandler())  # else Python would print what the client says in passing
_CONSUMER = {
    "enable.auto.commit": False,
    "enable.auto.offset.store": False,
    "enable.partition.eof": True,
    "auto.offset.reset": "error",
    "allow.auto.create.topics": False,
    "isolation.level": "read_committed",
    "queued.max.messages.kbytes": 32_768,
    "fetch.wait.max.ms": 100,
    "reconnect.backoff.max.ms": 1_000,
}


@dataclass(frozen=True)
class Client:
    """The brokers of a table: how they are called in messages, how to reach them, and how long to wait for them."""

    table: str
    servers: str
    settings: dict[str, Any]
    patience: float
    secrets: frozenset[str] = frozenset()

    def consumer(self, told: Callable[[Any], None]) -> Consumer:
        """A new client that reads; `told` is given the errors that it meets meanwhile."""
        from confluent_kafka import Consumer, KafkaException  # noqa: PLC0415 - as in `client_of`

        given = {"group.id": "penstock", **_CONSUMER, **self.settings, "error_cb": told}
        try:
            return Consumer(given, logger=_LOGGER)
        except KafkaException as error:
            raise self.bad_setting(error) from None

    def said(self, error: Any) -> str:
        """The words of an error, without secrets."""
        first = error.args[0] if getattr(error, "args", None) else error
        text = first.str() if hasattr(first, "str") else str(first)
        return masked(text, self.secrets)

    def bad_setting(self, error: Exception) -> SqlError:
        """The error for a setting that the client does not take."""
        message = f"table {self.table}: Kafka's client refuses its settings: {self.said(error)}"
        hint = f"'{PASSED}…' are librdkafka's settings, by its own names"
        return SqlError(Diagnostic("BAD_PROPERTY", message, hint=hint))

    def out_of_reach(self, why: str) -> DataError:
        """The error for brokers that do not answer."""
        message = f"table {self.table}: no broker at {self.servers} answers: {why}"
        hint = (
            f"once one does, `run` goes on where it was; it has been waited for {self.patience:g} s ('{TIMEOUT.name}')"
        )
        return DataError(Diagnostic("SOURCE_UNREACHABLE", message, hint=hint))

    def unreadable(self, topic: str, error: Any) -> DataError:
        """The error for a topic that cannot be read, which waiting does not change."""
        message = f"table {self.table}: the topic {topic} cannot be read: {self.said(error)}"
        return DataError(Diagnostic("CANNOT_READ", message))


def client_of(table: Table) -> Client:
    """The brokers that a table's properties name; UnsupportedError without the package for them."""
    package("confluent_kafka", f"table {table.name}, which reads topics,", "kafka")
    values = expanded_all(table.properties, f"table {table.name}")
    passed = {name.removeprefix(PASSED): value for name, value in values.items() if name.startswith(PASSED)}
    return Client(
        table.name,
        servers_of(table.properties),
        {**passed, SERVERS.name: servers_of(values)},
        duration(TIMEOUT.value(table)).total_seconds(),
        frozenset(secret_values(table.properties.values())),
    )
