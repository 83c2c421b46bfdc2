"""Topics of a real broker for tests: made under names of their own, written to, read to their end."""

from __future__ import annotations

import itertools
import json
import os
import time
from dataclasses import dataclass, field

from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewPartitions, NewTopic

_NUMBERS = itertools.count()


@dataclass
class Topics:
    """The broker at an address."""

    address: str
    admin: AdminClient = field(init=False)
    producer: Producer = field(init=False)

    def __post_init__(self) -> None:
        self.admin = AdminClient({"bootstrap.servers": self.address})
        self.producer = Producer({"bootstrap.servers": self.address})

    def new(self, name="t", partitions=1, replicas=None, **config):
        return self.made(f"{name}-{os.getpid()}-{next(_NUMBERS)}", partitions, replicas, **config)

    def made(self, topic, partitions=1, replicas=None, **config):
        """A new topic; `replicas` has the brokers of each partition, of which the first one leads."""
        placed = {} if replicas is None else {"replica_assignment": replicas}
        made = self.admin.create_topics([NewTopic(topic, partitions, config=config, **placed)])
        made[topic].result(30)
        return topic

    def leader(self, topic, partition):
        """The number of the broker that leads a partition, once a broker knows of it."""
        until = time.monotonic() + 30
        while True:
            found = self.admin.list_topics(topic, timeout=10).topics[topic].partitions.get(partition)
            if found is not None and found.leader >= 0:
                return found.leader
            assert time.monotonic() < until
            time.sleep(0.1)

    def remove(self, topic):
        self.admin.delete_topics([topic])[topic].result(30)
        until = time.monotonic() + 30
        while topic in self.admin.list_topics(timeout=10).topics:
            assert time.monotonic() < until
            time.sleep(0.1)

    def grow(self, topic, partitions):
        self.admin.create_partitions([NewPartitions(topic, partitions)])[topic].result(30)
        self.producer = Producer({"bootstrap.servers": self.address})  # the other does not know of them yet

    def forget(self, topic, partition, before):
        """As retention does: the messages before an offset go."""
        (done,) = self.admin.delete_records([TopicPartition(topic, partition, before)]).values()
        done.result(30)

    def write(self, topic, *values, partition=0, key=None):
        for value in values:
            text = value if isinstance(value, bytes) or value is None else json.dumps(value).encode()
            self.producer.produce(topic, text, key=key, partition=partition)
        assert self.producer.flush(30) == 0

    def all(self, topic, *, committed=True):
        """All messages of a topic now, partition by partition: (key, value), decoded."""
        level = "read_committed" if committed else "read_uncommitted"
        settings = {"group.id": "tests", "enable.partition.eof": True, "isolation.level": level}
        consumer = Consumer({"bootstrap.servers": self.address, "auto.offset.reset": "earliest", **settings})
        parts = consumer.list_topics(topic, timeout=30).topics[topic].partitions
        found = {number: [] for number in parts}
        consumer.assign([TopicPartition(topic, number, 0) for number in parts])
        left = set(parts)
        while left:
            message = consumer.poll(30)
            assert message is not None, "the broker does not answer"
            if message.error():
                left.discard(message.partition())
            else:
                found[message.partition()].append(message)
        consumer.close()
        return [message for number in sorted(found) for message in found[number]]
