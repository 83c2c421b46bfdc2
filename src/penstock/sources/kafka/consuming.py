"""Messages as the client brings them: of which partitions, from where, and whether there are more.

A partition is `behind` until the broker has said that its end is reached. What has come of it since is told by the
messages themselves, so a look at partitions that are not behind waits for nobody.
"""

from __future__ import annotations

import time
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import groupby
from typing import Any, overload

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

from penstock.sources.kafka.client import Client
from penstock.sources.kafka.topics import Partition
from penstock.sources.messages.api import Brought, Message

_AT_ONCE = 500  # messages, fewer than those after which the collector looks at what is new
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
        found = Fetched(beside=self.beside)
        self._consume(found, most, _GLANCE)
        while not found and self.is_behind and time.monotonic() < until:
            self._consume(found, 1, min(_LOOK, max(0.0, until - time.monotonic())))
        if found and len(found) < most:
            self._consume(found, most, _GLANCE)
        if found:
            self._since = None
        else:
            self._check_reach()
        return found

    def _consume(self, found: Fetched, most: int, wait: float) -> None:
        """Have up to that many messages among those found: what waits, and what comes within so many seconds.

        The client makes an object of each message. Few of them are there at a time, so that Python's collector does
        not look through all that the process holds for their sake.
        """
        until = time.monotonic() + wait
        while len(found) < most:
            asked = min(_AT_ONCE, most - len(found))
            brought = self.consumer.consume(asked, max(0.0, until - time.monotonic()))
            told = 0
            for place, error in enumerate([item.error() for item in brought]):
                if error is not None:
                    self._come(found, brought[told:place])
                    self._noted(error, (brought[place].topic() or "", brought[place].partition() or 0))
                    told = place + 1
            self._come(found, brought[told:])
            if len(brought) < asked:
                return

    def _come(self, found: Fetched, items: list[Any]) -> None:
        """Messages have come, maybe of partitions whose end had been reached."""
        if items:
            self.reached -= found.take(items)
            kind, moment = items[-1].timestamp()
            self.newest = moment / 1000 if kind else None

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


@dataclass
class Part:
    """Messages of one partition, in order, each part of them by itself; times and headers where these are asked for."""

    partition: Partition
    values: list[bytes | None] = field(default_factory=list)
    keys: list[bytes | None] = field(default_factory=list)
    offsets: list[int] = field(default_factory=list)
    beside: list[Any] = field(default_factory=list)

    def take(self, items: list[Any], *, beside: bool) -> None:
        """Messages as the client brings them come behind these."""
        self.values += [item.value() for item in items]
        self.keys += [item.key() for item in items]
        self.offsets += [item.offset() for item in items]
        if beside:
            self.beside += [(_moment(*item.timestamp()), tuple(item.headers() or ())) for item in items]

    def extend(self, more: Part) -> None:
        """Those of another come behind these."""
        self.values += more.values
        self.keys += more.keys
        self.offsets += more.offsets
        self.beside += more.beside

    def __len__(self) -> int:
        return len(self.values)

    def message(self, at: int) -> Message:
        """The message at a place."""
        facts = self.beside[at] if self.beside else ()
        return Message(self.values[at], self.keys[at], *self.partition, self.offsets[at], *facts)

    def cut(self, at: slice) -> Part:
        """Those at some places."""
        return Part(self.partition, self.values[at], self.keys[at], self.offsets[at], self.beside[at])

    def before(self, offset: int) -> Part:
        """Those that stand before an offset."""
        return self.cut(slice(bisect_left(self.offsets, offset)))


class Fetched(Brought):
    """Messages as they have been brought, those of each partition together, partitions in order."""

    def __init__(self, parts: Iterable[Part] = (), *, beside: bool) -> None:
        self._parts = {part.partition: part for part in parts}
        self._beside = beside

    def take(self, items: list[Any]) -> set[Partition]:
        """Messages as the client brings them come behind these; the partitions that they are of."""
        of: set[Partition] = set()
        for partition, group in groupby(items, key=_partition):
            of.add(partition)
            part = self._parts.get(partition)
            if part is None:
                part = self._parts[partition] = Part(partition)
            part.take(list(group), beside=self._beside)
        return of

    @property
    def parts(self) -> list[Part]:
        """The messages of each partition."""
        return [part for _, part in sorted(self._parts.items())]

    def __len__(self) -> int:
        return sum(map(len, self._parts.values()))

    @overload
    def __getitem__(self, at: int) -> Message: ...

    @overload
    def __getitem__(self, at: slice) -> Fetched: ...

    def __getitem__(self, at: int | slice) -> Message | Fetched:
        if isinstance(at, slice):
            return Fetched(self._cut(*at.indices(len(self))[:2]), beside=self._beside)
        for part in self.parts:
            if at < len(part):
                return part.message(at)
            at -= len(part)
        raise IndexError(at)

    def _cut(self, start: int, stop: int) -> Iterator[Part]:
        for part in self.parts:
            found = part.cut(slice(max(0, start), max(0, stop)))
            if found:
                yield found
            start, stop = start - len(part), stop - len(part)

    @property
    def values(self) -> list[bytes | None]:
        """The value of each, in order."""
        return [value for part in self.parts for value in part.values]


def _partition(item: Any) -> Partition:
    return item.topic(), item.partition()


def _moment(kind: int, moment: int) -> datetime | None:
    return _EPOCH + timedelta(milliseconds=moment) if kind and moment >= 0 else None
