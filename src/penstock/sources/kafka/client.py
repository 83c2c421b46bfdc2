"""The client: its settings from a table's properties, and what its errors mean.

Whatever it says is freed of secrets before anybody sees it.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from penstock.errors import DataError, Diagnostic, SqlError
from penstock.sources.kafka.declared import PASSED, SERVERS, TIMEOUT, servers_of
from penstock.sources.packages import package
from penstock.sources.properties import Declared
from penstock.sources.secrets import expanded_all, masked, secret_values

if TYPE_CHECKING:
    from confluent_kafka import Consumer, Producer

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
    "fetch.queue.backoff.ms": 5,
    "fetch.wait.max.ms": 100,
    "reconnect.backoff.max.ms": 1_000,
}

_SPREADING, _BETWEEN = 3.0, 0.1  # seconds until a new topic is known everywhere, and from one question to the next
# Keys go to partitions as Java's client sends them.
_PRODUCER = {"partitioner": "murmur2_random", "linger.ms": 5, "compression.type": "lz4"}


@dataclass(frozen=True)
class Client:
    """The brokers of a table or view: its name in messages, how to reach them, how long to wait for them."""

    what: str
    servers: str
    settings: dict[str, Any]
    patience: float
    secrets: frozenset[str] = frozenset()

    def consumer(self, told: Callable[[Any], None], group: str | None = None) -> Consumer:
        """A new client that reads; `told` is given the errors that it meets meanwhile.

        One of a group asks for the group's offsets alone, and is told them whatever transaction is open: that of a
        process which was killed would have to time out first.
        """
        named = {} if group is None else {"group.id": group, "isolation.level": "read_uncommitted"}
        given = {"group.id": "penstock", **_CONSUMER, **self.settings, **named, "error_cb": told}
        found: Consumer = self._made(driver().Consumer, given)
        return found

    def producer(self, transactions: str | None) -> Producer:
        """A new client that writes: in transactions of that name, or without, what is sent again still only once."""
        how = {"enable.idempotence": True} if transactions is None else {"transactional.id": transactions}
        own = {**how, "error_cb": lambda _error: None}
        found: Producer = self._made(driver().Producer, {**_PRODUCER, **self.settings, **own})
        return found

    def admin(self) -> Any:
        """A new client that asks for what brokers know of topics."""
        from confluent_kafka.admin import AdminClient  # noqa: PLC0415 - only where a topic is read

        return self._made(AdminClient, dict(self.settings))

    def _made(self, kind: Any, settings: dict[str, Any]) -> Any:
        try:
            return kind(settings, logger=_LOGGER)
        except driver().KafkaException as error:
            raise self.bad_setting(error) from None

    def said(self, error: Any) -> str:
        """The words of an error, without secrets."""
        first = error.args[0] if getattr(error, "args", None) else error
        text = first.str() if hasattr(first, "str") else str(first)
        return masked(text, self.secrets)

    def bad_setting(self, error: Exception) -> SqlError:
        """The error for a setting that the client does not take."""
        message = f"{self.what}: Kafka's client refuses its settings: {self.said(error)}"
        hint = f"'{PASSED}…' are librdkafka's settings, by its own names"
        return SqlError(Diagnostic("BAD_PROPERTY", message, hint=hint))

    def out_of_reach(self, why: str) -> DataError:
        """The error for brokers that do not answer."""
        message = f"{self.what}: no broker at {self.servers} answers: {why}"
        hint = (
            f"once one does, `run` goes on where it was; it has been waited for {self.patience:g} s ('{TIMEOUT.name}')"
        )
        return DataError(Diagnostic("SOURCE_UNREACHABLE", message, hint=hint))

    def unreadable(self, topic: str, error: Any) -> DataError:
        """The error for a topic that cannot be read, which waiting does not change."""
        message = f"{self.what}: the topic {topic} cannot be read: {self.said(error)}"
        return DataError(Diagnostic("CANNOT_READ", message))


def driver() -> Any:
    """The package that speaks with brokers; UnsupportedError without it."""
    return package("confluent_kafka", "what reads or writes topics", "kafka")


def spread(told: Callable[[], Any]) -> Any:
    """The facts that are told of one topic, for which a broker is asked again while it knows of none.

    A topic that was made just now is not known to all brokers at once.
    """
    until = time.monotonic() + _SPREADING
    while True:
        found = told()
        unknown = found.error is not None and found.error.code() == driver().KafkaError.UNKNOWN_TOPIC_OR_PART
        if not unknown or time.monotonic() >= until:
            return found
        time.sleep(_BETWEEN)


def client_of(declared: Declared, what: str, patience: float) -> Client:
    """The brokers that the properties of a table or view name."""
    driver()
    values = expanded_all(declared.properties, what)
    passed = {name.removeprefix(PASSED): value for name, value in values.items() if name.startswith(PASSED)}
    passed.pop("auto.offset.reset", None)  # of a group's offsets alone, which `topics` looks at
    return Client(
        what,
        servers_of(declared.properties),
        {**passed, SERVERS.name: servers_of(values)},
        patience,
        frozenset(secret_values(declared.properties.values())),
    )
