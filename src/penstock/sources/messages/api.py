"""The seam between what brings messages and what reads them.

A transport (Kafka) brings `Message`s; a `MessageFormat` says which rows one is. To add a format: a class as below in a
module of its own, its name in `declared.FORMATS`, a case in `choice`, its properties in `declared.PROPERTIES` and in
`catalog.properties`. The table that it is given has the columns that the message's value fills, and no others: those of
the key and of METADATA are put beside them by `rows`, which also checks and converts every value, keeps a message that
raises DataError out with its place, and makes batches.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

import pyarrow as pa

from penstock.steps.rows.batch import Operated


@dataclass(frozen=True, slots=True)
class Message:
    """One message: its value and key (None: it has none), where it stands, and what is known beside it."""

    value: bytes | None
    key: bytes | None = None
    topic: str = ""
    partition: int = 0
    offset: int = 0
    timestamp: datetime | None = None
    headers: Sequence[tuple[str, bytes | None]] = ()

    @property
    def place(self) -> str:
        """The place that a rejected row tells: topic, partition and offset."""
        return f"{self.topic}/{self.partition}@{self.offset}"


class Brought(Sequence[Message], ABC):
    """Messages in the transport's own form, each made a `Message` when somebody looks at it: most are read at once."""

    @property
    @abstractmethod
    def values(self) -> list[bytes | None]:
        """The value of each, in order."""


def values_of(messages: Sequence[Message]) -> list[bytes | None]:
    """The values of messages, in order."""
    return messages.values if isinstance(messages, Brought) else [message.value for message in messages]


class MessageFormat(Protocol):
    """The way in which the values of a table's messages are read."""

    name: str
    in_bulk: bool  # whether `at_once` may be worth asking

    def at_once(self, values: Sequence[bytes]) -> pa.Table | None:
        """The rows of values that are one plain row each, in order, with `__op` if not all are inserted.

        None where this is not certain of every one: then each is read by `rows`.
        """

    def rows(self, value: bytes, place: str) -> Sequence[Operated]:
        """The operations that one value says, in order; `formats.rows.refuse_record` for what is none."""

    def emptied(self, key: Mapping[str, Any] | None, place: str) -> Sequence[Operated]:
        """The same of a message without a value, whose key holds these columns (None: the table reads no keys)."""
