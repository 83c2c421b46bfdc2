"""Messages as the client brings them: of which partitions, from where, and whether there are more.

A partition is `behind` until the broker has said that its end is reached. What has come of it since is told by the
messages themselves, so a look at partitions that are not behind waits for nobody.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, overload

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

from penstock.sources.kafka.client import Client
from penstock.sources.kafka.topics import Partition
from penstock.sources.messages.api import Brought, Message

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_GLANCE = 0.005  # seconds to look into what has been fetched already
_LOOK = 0.5  # seconds that a look waits for partitions that are behind
_DOUBT = 2.0  # seconds between two questions whether a broker is there at all
_GONE = (KafkaError._AUTO_OFFSET_RESET, KafkaError.OFFSET_OUT_OF_RANGE)  # noqa: SLF001 - that is its name
_NOT_NOW = (KafkaError._ALL_BROKERS_DOWN, KafkaError._TRANSPORT, KafkaError._TIMED_OUT, KafkaError._RESOLVE)  # noqa: SLF001


class OffsetsGoneError(Exception):
    """The messages from an offset on are not there any more."""

    def __init__(self, partition: Partition) -> None:
        super().__init__(partition)
        self.partition = partition


@dataclass
class Consuming:
    """The client at work on some partitions; `reached` are those whose end has been reached."""

    client: Client
    beside: bool = True  # whether anybody asks for what is known of a message beside its value
    consumer: Consumer = field(init=False)
    reached: set[Partition] = field(default_factory=set)
    assigned: set[Partition] = field(default_factory=set)
    newest: float | None = None  # the time of the last message, in seconds since 1970
    _trouble: str = ""
    _since: float | None = None
    _asked: float = 0.0

    def __post_init__(self) -> None:
        """SqlError for settings that the client does not take."""
        self.consumer = self.client.consumer(self.told)

    @property
    def trouble(self) -> str:
        """The error that the client has met since a broker answered last; empty if nothing."""
        return "" if self._since is None else self._trouble

    def told(self, error: Any) -> None:
        """The client has met an error; those that pass are kept in mind, in case nothing comes any more."""
        self._trouble = self.client.said(error)
        if self._since is None:
            self._since = time.monotonic()

    def assign(self, offsets: Mapping[Partition, int]) -> None:
        """Read these partitions from these offsets on."""
        self.consumer.assign([TopicPartition(*partition, offset) for partition, offset in offsets.items()])
        self.assigned, self.reached = set(offsets), set()

    @property
    def is_behind(self) -> bool:
        """True if a partition may have more than has been fetched."""
        return self.reached != self.assigned

    def messages(self, most: int, *, wait: float = _LOOK) -> Fetched:
        """Up to that many messages; none if none have come, within `wait` seconds where partitions are behind."""
        until = time.monotonic() + wait
        found = self._consumed(most, _GLANCE)
        while not found and self.is_behind and time.monotonic() < until:
            found = self._consumed(1, min(_LOOK, max(0.0, until - time.monotonic())))
        if found and len(found) < most:
            found += self._consumed(most - len(found), _GLANCE)
        if found:
            self._since = None
        else:
            self._check_reach()
        return Fetched(found, beside=self.beside)

    def _consumed(self, most: int, wait: float) -> list[Any]:
        """The messages that the client brings; what it says of partitions is noted in its place among them."""
        found: list[Any] = []
        told = 0
        brought = self.consumer.consume(most, wait)
        for place, item in enumerate(brought):
            error = item.error()
            if error is not None:
                self._come(brought[told:place])
                found += brought[told:place]
                self._noted(error, (item.topic() or "", item.partition() or 0))
                told = place + 1
        self._come(brought[told:])
        found += brought[told:]
        if found:
            kind, moment = found[-1].timestamp()
            self.newest = moment / 1000 if kind else None
        return found

    def _come(self, items: list[Any]) -> None:
        """Messages have come of partitions whose end had been reached."""
        if self.reached and items:
            self.reached -= {(item.topic(), item.partition()) for item in items}

    def _noted(self, error: KafkaError, partition: Partition) -> None:
        """An event among the messages: an end, or an error that concerns a partition."""
        if error.code() == KafkaError._PARTITION_EOF:  # noqa: SLF001 - that is its name
            self.reached.add(partition)
            self._since = None
        elif error.code() in _GONE:
            raise OffsetsGoneError(partition)
        elif error.code() in _NOT_NOW or error.retriable():
            self.told(error)
        else:
            raise self.client.unreadable(partition[0], error)

    def _check_reach(self) -> None:
        """DataError if no broker has answered for as long as the client is to wait."""
        now = time.monotonic()
        if self._since is None or now - self._asked < min(_DOUBT, self.client.patience):
            return
        self._asked = now
        try:
            self.consumer.list_topics(timeout=min(_DOUBT, self.client.patience))
        except KafkaException as error:
            if now - self._since >= self.client.patience:
                raise self.client.out_of_reach(self._trouble or self.client.said(error)) from None
        else:
            self._since = None


class Fetched(Brought):
    """Messages as the client has brought them: `items`, of which `beside` has times and headers read as well."""

    def __init__(self, items: list[Any], *, beside: bool) -> None:
        self.items = items
        self.beside = beside

    def __len__(self) -> int:
        return len(self.items)

    @overload
    def __getitem__(self, at: int) -> Message: ...

    @overload
    def __getitem__(self, at: slice) -> Fetched: ...

    def __getitem__(self, at: int | slice) -> Message | Fetched:
        if isinstance(at, slice):
            return Fetched(self.items[at], beside=self.beside)
        return _message(self.items[at]) if self.beside else _bare(self.items[at])

    @property
    def values(self) -> list[bytes | None]:
        return [item.value() for item in self.items]

    def before(self, offset: int) -> Fetched:
        """Those that stand before an offset."""
        return Fetched([item for item in self.items if item.offset() < offset], beside=self.beside)

    def by_partition(self) -> dict[Partition, Fetched]:
        """The messages of each partition, partitions in order."""
        found: dict[Partition, list[Any]] = {}
        for item in self.items:
            found.setdefault((item.topic(), item.partition()), []).append(item)
        return {partition: Fetched(items, beside=self.beside) for partition, items in sorted(found.items())}

    @classmethod
    def joined(cls, parts: Iterable[Fetched]) -> Fetched:
        """The messages of several, one after the other."""
        given = list(parts)
        return cls([item for part in given for item in part.items], beside=any(part.beside for part in given))


def _message(item: Any) -> Message:
    kind, moment = item.timestamp()
    at = _EPOCH + timedelta(milliseconds=moment) if kind and moment >= 0 else None
    return Message(
        item.value(), item.key(), item.topic(), item.partition(), item.offset(), at, tuple(item.headers() or ())
    )


def _bare(item: Any) -> Message:
    """The same without its time and headers, which cost more than the rest."""
    return Message(item.value(), item.key(), item.topic(), item.partition(), item.offset())
