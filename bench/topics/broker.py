"""The broker that `scripts/services.sh` starts, topics in it, and what they hold."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from bench.nexmark.task import UnavailableError

PARTITIONS = 2
_SCRIPT = Path(__file__).parents[2] / "scripts" / "services.sh"
_PIECE = 10_000
_PATIENCE = 60.0
_NUMBERS = itertools.count()


class Broker:
    """The broker at an address."""

    def __init__(self, address: str) -> None:
        self.address = address
        self._admin = AdminClient({"bootstrap.servers": address})

    def topic(self, name: str, partitions: int = PARTITIONS) -> str:
        """A new topic, whose name begins so."""
        topic = f"bench-{name}-{os.getpid()}-{next(_NUMBERS)}"
        self._admin.create_topics([NewTopic(topic, partitions)])[topic].result(_PATIENCE)
        return topic

    def forget(self, *topics: str) -> None:
        """Topics go, with what they hold."""
        for done in self._admin.delete_topics(list(topics)).values():
            done.result(_PATIENCE)

    def fill(self, topic: str, values: Sequence[bytes]) -> None:
        """Write values, in turn into each partition."""
        producer = Producer({"bootstrap.servers": self.address, "linger.ms": 20, "compression.type": "lz4"})
        for begin in range(0, len(values), _PIECE):
            for partition in range(PARTITIONS):
                piece = values[begin + partition : begin + _PIECE : PARTITIONS]
                producer.produce_batch(topic, [{"value": value} for value in piece], partition=partition)
            while len(producer) > PARTITIONS * _PIECE:
                producer.poll(0.01)
        if producer.flush(_PATIENCE):
            message = f"the broker at {self.address} has not taken all events"
            raise UnavailableError(message)

    def held(self, topic: str) -> list[dict[str, Any]]:
        """What is committed in a topic now, decoded."""
        return [json.loads(message.value()) for message in self._messages(topic)]

    def _messages(self, topic: str) -> Iterator[Message]:
        consumer = self.reader(topic)
        left = set(range(len(consumer.assignment())))
        while left:
            for message in consumer.consume(_PIECE, 1.0):
                if message.error():
                    left.discard(message.partition())
                else:
                    yield message
        consumer.close()

    def reader(self, topic: str) -> Consumer:
        """A reader of a topic from its beginning, that sees what is committed as soon as it can be had."""
        consumer = Consumer(
            {
                "bootstrap.servers": self.address,
                "group.id": "bench",
                "enable.auto.commit": False,
                "enable.partition.eof": True,
                "isolation.level": "read_committed",
                "fetch.wait.max.ms": 10,
            }
        )
        until = time.monotonic() + _PATIENCE
        # What was made just now may not be known yet.
        while not (partitions := consumer.list_topics(topic, timeout=_PATIENCE).topics[topic].partitions):
            if time.monotonic() > until:
                message = f"the broker at {self.address} knows nothing of its topic {topic}"
                raise UnavailableError(message)
            time.sleep(0.1)
        consumer.assign([TopicPartition(topic, number, 0) for number in partitions])
        return consumer


@contextmanager
def running() -> Iterator[Broker]:
    """The broker, stopped again if it was not running before; UnavailableError if it cannot be had."""
    started = subprocess.run(["bash", _SCRIPT, "start", "kafka"], capture_output=True, text=True, check=False)  # noqa: S603, S607
    if started.returncode:
        raise UnavailableError(started.stderr.strip().splitlines()[-1])
    try:
        yield Broker(started.stdout.strip())
    finally:
        if "has started" in started.stderr:
            subprocess.run(["bash", _SCRIPT, "stop", "kafka"], capture_output=True, check=False)  # noqa: S603, S607
