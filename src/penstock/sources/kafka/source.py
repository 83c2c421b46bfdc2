"""The rows of a table from its topics: read on, taken back, read again what a manifest names.

A manifest has, for each partition that a step has read of, the offset before the first message and the one behind the
last, with their number; and once, from and to the same, where each partition begins. So a pipeline that goes on begins
nothing anew, and partitions that have come meanwhile are read from their first message.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa
from confluent_kafka import TopicPartition

from penstock.catalog.model import Table
from penstock.errors import DataError, Diagnostic
from penstock.sources.kafka import declared
from penstock.sources.kafka.client import Client
from penstock.sources.kafka.consuming import Consuming, Fetched, OffsetsGoneError, Part
from penstock.sources.kafka.topics import Partition, Topics
from penstock.sources.lag import Lag
from penstock.sources.messages.metadata import metadata_columns
from penstock.sources.messages.rows import MessageRows
from penstock.sources.position import IDENTITY
from penstock.sources.properties import check_replaced, duration
from penstock.sources.transport import Report
from penstock.steps.rows.batch import Batch
from penstock.steps.rows.partitioned import Partitioned
from penstock.steps.rows.rejected import Rejections

_PIECE = 10_000
_SHOWN = 20  # topics that are named where none is meant
_NOT_ALL = "not all of its messages have come"
_GROUP = f"{declared.PASSED}group.id"


@dataclass(frozen=True, slots=True)
class Range:
    """Messages of one partition: from an offset up to another, and how many they are; the topic's id if it is told."""

    partition: Partition
    start: int
    end: int
    messages: int
    topic_id: str | None = None

    def to_json(self) -> dict[str, Any]:
        """As a manifest has it."""
        topic, number = self.partition
        place = {"topic": topic, "partition": number, **({} if self.topic_id is None else {"id": self.topic_id})}
        return {**place, "from": {"offset": self.start}, "to": {"offset": self.end, "messages": self.messages}}


def range_of(item: Mapping[str, Any]) -> Range:
    """The range that a manifest has."""
    end = item["to"]
    partition = item["topic"], item["partition"]
    return Range(partition, item["from"]["offset"], end["offset"], end.get("messages", 0), item.get("id"))


@dataclass
class KafkaSource:
    """The topics of one table."""

    table: Table
    client: Client
    rows: MessageRows
    _at: dict[Partition, int] = field(default_factory=dict)  # the next offset of each partition that is known
    _read: dict[Partition, Range] = field(default_factory=dict)
    _again: list[Range] = field(default_factory=list)
    _told: set[Partition] = field(default_factory=set)  # whose beginning a manifest has
    _ids: dict[str, str] = field(default_factory=dict)  # the id that each topic had when it was last looked for
    _stops: dict[Partition, int] | None = None
    _looked: float | None = None
    _moved: bool = True
    _begun: bool = False
    _cluster: str | None = None  # the id of the cluster in which the offsets are, as brokers tell it

    def __post_init__(self) -> None:
        """Ask the brokers for the topics; DataError if they do not answer, or have no such topic."""
        self._consuming = Consuming(self.client, beside=bool(metadata_columns(self.table)))
        self._topics = Topics(self.table, self.client, self._consuming.consumer)
        self._found = self._topics.partitions()
        self._every = duration(declared.DISCOVERY.value(self.table)).total_seconds()
        late = any(column.lateness is not None for column in self.table.columns)
        self._idle_after = duration(declared.IDLE_AFTER.value(self.table)) if late else None

    def read(self, rows: int, rejections: Rejections, *, ended: bool = False) -> Batch | None:
        """Up to so many messages, partition by partition; or those that `seek` has named."""
        if self._again:
            return self._read_again(rejections)
        report = Report(self.table, rejections)
        self._follow_partitions(report)
        if not ended:
            self._stops = None
        elif self._has_ended():
            return None
        try:
            found = self._consuming.messages(rows, wait=self._wait(ended=ended))
        except OffsetsGoneError as error:
            self._lost(error.partition, report)
            found = Fetched(beside=False)
        if ended and not found and not self._has_ended():
            raise self.client.out_of_reach(_NOT_ALL)
        if not found:
            return None
        try:
            return self._taken_up(found, rejections)
        except DataError:  # as when a schema registry is away: they will be read again
            self._moved = True
            raise

    def _wait(self, *, ended: bool) -> float:
        return self.client.patience if ended else 0.5

    def _has_ended(self) -> bool:
        """True if all has been read that was there when the end of the input was said to have come."""
        if self._stops is None:
            self._stops = {partition: self._topics.bounds(partition)[1] for partition in self._at}
            if any(self._at[partition] < self._stops[partition] for partition in self._consuming.reached):
                # An end of earlier: what has been written since may be on its way yet, from another broker at that.
                self._consuming.assign(self._at)
        open_ones = {partition for partition, stop in self._stops.items() if self._at[partition] < stop}
        return not open_ones - self._consuming.reached

    def _taken_up(self, found: Fetched, rejections: Rejections) -> Batch:
        """The rows of messages, which stand from now on before the position."""
        batch = self._with_origin(found, rejections)
        for part in found.parts:
            partition = part.partition
            before = self._read.get(partition)
            start, count = (self._at[partition], 0) if before is None else (before.start, before.messages)
            end = part.offsets[-1] + 1
            self._read[partition] = Range(partition, start, end, count + len(part), self._ids.get(partition[0]))
            self._at[partition] = end
        return batch

    def _with_origin(self, found: Fetched, rejections: Rejections) -> Batch:
        """The rows of messages; each says its partition, where the table has a waterline for it to hold back."""
        told = len(rejections.rows)
        batch, parts = self.rows.batch(found, rejections), found.parts
        if self._idle_after is None:
            return batch
        known = sorted(self._at)
        numbers = {partition: place for place, partition in enumerate(known)}
        if self.rows.format.in_bulk and len(rejections.rows) == told:  # then each message is one row
            alike = [pa.repeat(pa.scalar(numbers[part.partition], pa.int32()), len(part)) for part in parts]
            places = pa.concat_arrays(alike)
        else:
            by_name = {_name(partition): place for partition, place in numbers.items()}
            of = [by_name[batch.place(index).rpartition("@")[0]] for index in range(len(batch))]
            places = pa.array(of, pa.int32())
        more = self._consuming.assigned - self._consuming.reached
        unread = frozenset(map(_name, more.union(part.partition for part in parts)))
        origin = Partitioned(tuple(map(_name, known)), places, unread, self._idle_after)
        return replace(batch, partitions=origin)

    # Partitions ---------------------------------------------------------------------------------------------------

    def _follow_partitions(self, report: Report) -> None:
        """Have the partitions that there are, looked for anew from time to time, and read each where it stands."""
        now = time.monotonic()
        if self._looked is None or now - self._looked >= self._every:
            if self._looked is not None:
                self._found = self._topics.partitions()
            self._looked = now
            self._begin(report)
        if self._moved:
            self._consuming.assign(self._at)
            self._moved = False

    def _begin(self, report: Report) -> None:
        self._see_other_cluster()
        self._see_made_anew(report)
        for partition in self._found:
            if partition not in self._at:
                self._at[partition] = self._topics.beginning(partition, is_new=self._begun)
                self._moved = True
            elif self._moved:
                self._check_there(partition, report)
        for partition in set(self._at) - set(self._found):
            self._gone(partition, "the topic, or the partition, is not there any more", report)
            del self._at[partition]
            self._moved = True
        self._begun = True

    def _see_other_cluster(self) -> None:
        """Begin anew in a cluster that is another than the one in which the offsets are, or DataError."""
        known, now = self._cluster, self._topics.cluster()
        if now is None:  # an old broker
            return
        self._cluster = now
        if known is not None and known != now and self._at:
            check_replaced(self.table, f"the cluster at {self.client.servers}", f"cluster {known}", f"cluster {now}")
            self._begun, self._moved = False, True
            for known_things in (self._at, self._ids, self._told):
                known_things.clear()

    def _see_made_anew(self, report: Report) -> None:
        """See to topics that are others than those of their names before: what is there now begins with the first."""
        now = self._topics.identities({topic for topic, _ in self._found})
        for partition in self._found:
            topic = partition[0]
            before, present = self._ids.get(topic), now.get(topic)
            if partition in self._at and None not in (before, present) and before != present:
                self._see_replaced(partition, str(before), str(present), report)
                self._at[partition], _ = self._topics.bounds(partition)
                self._moved = True
        self._ids |= now

    def _see_replaced(self, partition: Partition, before: str, present: str, report: Report) -> None:
        if declared.ON_LOST.value(self.table) == "fail":
            check_replaced(self.table, f"the topic {partition[0]}", f"id {before}", f"id {present}")
        what = f"the topic was made anew: it has the id {present}, and what was read had {before}"
        report.broken(f"{_name(partition)}@{self._at[partition]}", Diagnostic("OFFSETS_GONE", what))

    def _check_there(self, partition: Partition, report: Report) -> None:
        """See to it that what is to be read next has not gone."""
        low, high = self._topics.bounds(partition)
        if not low <= self._at[partition] <= high:
            self._lost(partition, report)

    def _lost(self, partition: Partition, report: Report) -> None:
        """Go on with the first message that is there, if that is wanted."""
        low, high = self._topics.bounds(partition)
        at = self._at[partition]
        if at > high:
            what = f"it ends at offset {high}, before {at}: the topic was made anew"
        else:
            what = f"the messages from offset {at} up to {low} have gone: the broker keeps them no longer"
        self._gone(partition, what, report)
        self._at[partition] = low
        self._moved = True

    def _gone(self, partition: Partition, what: str, report: Report) -> None:
        name = _name(partition)
        if declared.ON_LOST.value(self.table) == "fail":
            message = f"table {self.table.name}, {name}: {what}"
            hint = "'on_lost' = 'skip' goes on with what is there, and tells of it in error_view"
            raise DataError(Diagnostic("OFFSETS_GONE", message, self.table.span, hint=hint))
        report.broken(f"{name}@{self._at[partition]}", Diagnostic("OFFSETS_GONE", what))

    # Positions ----------------------------------------------------------------------------------------------------

    def taken(self) -> dict[str, Any]:
        """The offsets read since the last commit, from where to where, and where partitions begin that are new."""
        known = self._told | set(self._read)
        begun = [Range(item, at, at, 0, self._ids.get(item[0])) for item, at in self._at.items() if item not in known]
        read = sorted([*self._read.values(), *begun], key=lambda item: item.partition)
        connector = self.table.properties["connector"].lower()
        cluster = {} if self._cluster is None else {IDENTITY: {"cluster": self._cluster}}
        return {"connector": connector, "read": [{**item.to_json(), **cluster} for item in read]} if read else {}

    def seek(self, taken: Mapping[str, Any]) -> None:
        """Read next what a manifest says was taken, and no more."""
        found = [range_of(item) for item in taken.get("read", ())]
        self._again = [item for item in found if item.messages]
        self._at |= {item.partition: item.start for item in found if item.partition not in self._at}

    def skip(self, taken: Mapping[str, Any]) -> None:
        """Go on behind what a manifest says was taken."""
        for facts in taken.get("read", ()):
            item = range_of(facts)
            self._cluster = facts.get(IDENTITY, {}).get("cluster", self._cluster)
            self._at[item.partition] = item.end
            self._told.add(item.partition)
            if item.topic_id is not None:
                self._ids[item.partition[0]] = item.topic_id
        self._begun = self._moved = True

    def _read_again(self, rejections: Rejections) -> Batch:
        """Exactly the messages of the ranges; DataError if some are not there any more."""
        parts = [self._messages_of(item) for item in self._again]
        self._moved = True
        return self._taken_up(Fetched(parts, beside=False), rejections)

    def _messages_of(self, item: Range) -> Part:
        self._consuming.assign({item.partition: item.start})
        found = Part(item.partition)
        until = time.monotonic() + self.client.patience
        try:
            while len(found) < item.messages and self._consuming.is_behind and time.monotonic() < until:
                for part in self._consuming.messages(min(_PIECE, item.messages - len(found))).parts:
                    found.extend(part.before(item.end))
        except OffsetsGoneError:
            found = Part(item.partition)
        if len(found) != item.messages:
            topic, number = item.partition
            what = f"of {item.messages} messages from offset {item.start} up to {item.end} there are {len(found)}"
            message = f"table {self.table.name}, {topic}/{number}: what a step has read cannot be read again: {what}"
            raise DataError(Diagnostic("CANNOT_READ_AGAIN", message))
        self._at[item.partition] = item.start
        return found

    def commit(self) -> None:
        """Take note that what has been read is part of a step; Kafka's own tools see it where a group is named."""
        self._told |= set(self._at)
        if _GROUP in self.table.properties and self._read:
            ends = [TopicPartition(*item.partition, item.end) for item in self._read.values()]
            self._consuming.consumer.commit(offsets=ends, asynchronous=True)
        self._read.clear()
        self._again.clear()

    def rewind(self) -> None:
        """Read again from where the last commit was."""
        for item in self._read.values():
            self._at[item.partition] = item.start
            self._moved = True
        self._read.clear()

    def waiting(self) -> tuple[int, int]:
        """Bytes, which Kafka does not tell, and partitions of which more is known to be there."""
        return 0, sum(1 for partition in self._at if self.lag(partition))

    def behind(self) -> Lag:
        """The offsets that wait, the partitions of which some do, and the age of the last message that was read."""
        lags = [self.lag(partition) for partition in list(self._at)]
        age = None if self._consuming.newest is None else max(0.0, time.time() - self._consuming.newest)
        return Lag(sum(lags), None, sum(map(bool, lags)), age if any(lags) or age is None else 0.0)

    def remark(self) -> str:
        """That no topic is there whose messages would come."""
        pattern = self.table.properties.get(declared.PATTERN.name)
        if pattern is None or self._found:
            return ""
        known = sorted(name for name in self._topics.metadata().topics if not name.startswith("__"))
        there = f"; the topics there are {', '.join(known[:_SHOWN])}" if known else ""
        return (
            f"'{declared.PATTERN.name}' = '{pattern}' matches no topic at {self.client.servers} now{there}; it is "
            f"looked for again every {declared.DISCOVERY.value(self.table)}"
        )

    def trouble(self) -> str:
        """The error for which nothing comes now."""
        return self._consuming.trouble

    def lag(self, partition: Partition) -> int:
        """The number of offsets from the position to the end of a partition, as the client has heard last."""
        if partition not in self._consuming.assigned:
            return 0
        _, high = self._consuming.consumer.get_watermark_offsets(TopicPartition(*partition), cached=True)
        return max(0, int(high) - self._at[partition])

    def describe(self) -> str:
        """The source as its user names it."""
        topics = self.table.properties.get(declared.TOPIC.name) or f"/{self.table.properties[declared.PATTERN.name]}/"
        return f"{self.table.name} from {topics} at {self.client.servers} ({self.rows.format.name})"


def _name(partition: Partition) -> str:
    return f"{partition[0]}/{partition[1]}"
