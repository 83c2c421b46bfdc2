"""The partitions that a table's topics have, and where reading each of them begins."""

from __future__ import annotations

import re
import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicCollection, TopicPartition

from penstock.catalog.model import Table
from penstock.errors import DataError, Diagnostic, did_you_mean
from penstock.sources.kafka import declared
from penstock.sources.kafka.client import Client, spread

Partition = tuple[str, int]
_NO_IDS = ("", "AAAAAAAAAAAAAAAAAAAAAA")  # zero is the id of none
_ASKING = 2.0  # seconds for one question; it is asked again until the client's patience has ended


@dataclass
class Topics:
    """The topics of one table."""

    table: Table
    client: Client
    consumer: Consumer

    def partitions(self) -> list[Partition]:
        """All partitions that there are now, in order; DataError for a topic that there is not, or no broker."""
        pattern = self.table.properties.get(declared.PATTERN.name)
        if pattern is not None:
            wanted = re.compile(pattern)
            return sorted(
                (name, number)
                for name, topic in self.metadata().topics.items()
                if wanted.fullmatch(name) and not name.startswith("__")
                for number in topic.partitions
            )
        names = declared.topic_names(self.table.properties[declared.TOPIC.name])
        return sorted((name, number) for name in names for number in self._of_topic(name))

    def metadata(self, topic: str | None = None) -> Any:
        """The facts that the brokers tell of all topics, or of one; DataError if none answers in time."""
        until = time.monotonic() + self.client.patience
        while True:
            try:
                return self.consumer.list_topics(topic, timeout=min(_ASKING, self.client.patience))
            except KafkaException as error:
                if time.monotonic() >= until:
                    raise self.client.out_of_reach(self.client.said(error)) from None

    def _of_topic(self, name: str) -> list[int]:
        topic = spread(lambda: self.metadata(name).topics[name])
        if topic.error is None and topic.partitions:
            return list(topic.partitions)
        if topic.error is not None and topic.error.code() != KafkaError.UNKNOWN_TOPIC_OR_PART:
            raise self.client.unreadable(name, topic.error)
        known = [other for other in self.metadata().topics if not other.startswith("__")]
        message = f"table {self.table.name}: there is no topic {name} at {self.client.servers}"
        hint = f"the topics there are {', '.join(sorted(known)[:20]) or 'none'}"
        raise DataError(Diagnostic("NO_SUCH_TOPIC", message, self.table.span, did_you_mean(name, known), hint))

    def cluster(self) -> str | None:
        """The id of the cluster; None of a broker that does not tell it."""
        found = self.metadata().cluster_id
        return None if not found else str(found)

    def identities(self, names: Collection[str]) -> dict[str, str]:
        """The ids by which brokers tell topics of one name apart; none of those that do not tell them."""
        if not names:
            return {}
        asked = self._admin.describe_topics(TopicCollection(sorted(names)), request_timeout=_ASKING)
        found: dict[str, str] = {}
        for name, answer in asked.items():
            try:
                told = answer.result(_ASKING + 1)
            except (KafkaException, TimeoutError):  # an old broker, or one that does not let us ask
                continue
            if told.topic_id is not None and str(told.topic_id) not in _NO_IDS:
                found[name] = str(told.topic_id)
        return found

    @cached_property
    def _admin(self) -> Any:
        return self.client.admin()

    def bounds(self, partition: Partition) -> tuple[int, int]:
        """The offset of the first message that is there, and the one behind the last."""
        until = time.monotonic() + self.client.patience
        while True:
            try:
                low, high = self.consumer.get_watermark_offsets(TopicPartition(*partition), timeout=_ASKING)
            except KafkaException as error:
                if time.monotonic() >= until:
                    raise self.client.out_of_reach(self.client.said(error)) from None
            else:
                return int(low), int(high)

    def beginning(self, partition: Partition, *, is_new: bool) -> int:
        """The offset from which a partition is read at first; one that `is_new` from its first message."""
        mode = declared.STARTUP.value(self.table)
        low, high = self.bounds(partition)
        if is_new or mode == "earliest-offset":
            return low
        if mode == "latest-offset":
            return high
        if mode == "group-offsets":
            return self._of_group(partition, low, high)
        if mode == "timestamp":
            return self._since(partition, int(self.table.properties[declared.STARTUP_TIME.name]), high)
        return self._specific().get(partition[1], low)

    def _of_group(self, partition: Partition, low: int, high: int) -> int:
        """The offset that the table's group has committed; without one the beginning, or the end, as it says."""
        group = self.client.consumer(lambda _error: None, group=self.table.properties[declared.GROUP])
        try:
            (found,) = group.committed([TopicPartition(*partition)], timeout=self.client.patience)
        except KafkaException as error:
            raise self.client.out_of_reach(self.client.said(error)) from None
        finally:
            group.close()
        if found.offset >= 0:
            return min(max(int(found.offset), low), high)
        return high if self.table.properties.get(declared.RESET, "").lower() in ("latest", "largest") else low

    def _specific(self) -> Mapping[int, int]:
        return declared.specific_offsets(self.table.properties[declared.STARTUP_OFFSETS.name])

    def _since(self, partition: Partition, milliseconds: int, high: int) -> int:
        """The offset of the first message of a time or later; behind the last if there is none."""
        asked = TopicPartition(*partition, milliseconds)
        try:
            (found,) = self.consumer.offsets_for_times([asked], timeout=self.client.patience)
        except KafkaException as error:
            raise self.client.out_of_reach(self.client.said(error)) from None
        return int(found.offset) if found.offset >= 0 else high
