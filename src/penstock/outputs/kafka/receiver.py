"""A step as one transaction: its messages, and its number as the offset of a group that belongs to the output.

Without transactions the number follows the messages, once the broker has all of them: at least once.

The group is named by topic and output, and says whose the output is; another says whose the topic is (`claims`). The
transactional id is named by the topic, or by topic and output where several share it; who begins transactions under the
id ends those of whoever had it before.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

from penstock.failpoints import reach
from penstock.outputs.accepting import key_of, places_of
from penstock.outputs.declared import replaces_others, timeout_of
from penstock.outputs.forms import Form
from penstock.outputs.kafka.claims import Claim, group_of
from penstock.outputs.kafka.declared import TOPIC, is_shared, is_transactional, style_of
from penstock.outputs.kafka.writing import Writing, Written
from penstock.outputs.receiver import Owner, in_use, refused, unreachable
from penstock.outputs.sink import Sink
from penstock.outputs.zoned import zoned_rows
from penstock.sources.kafka.client import Client, client_of, driver, spread
from penstock.sources.kafka.declared import servers_of
from penstock.steps.change import Change

T = TypeVar("T")
_ASKING = 10.0  # seconds for one answer of the broker: the step is given again until the output's `timeout`
_FULL = 0.1
_MARKED = "/"


@dataclass
class TopicReceiver:
    """One output's topic, and the clients that write it and know its step."""

    writing: Writing
    owner: Owner
    client: Client
    topic: str
    producer: Any
    group: Any
    claim: Claim
    last: int
    where: str
    is_transactional: bool = True
    _failed: list[Any] = field(default_factory=list)

    def taken(self) -> int | None:
        """The step that the broker has."""
        return self.last

    def take(self, change: Change) -> None:
        """Write a step and its number."""
        self._failed.clear()
        with told(self.client, self.where):
            if self.claim.is_old:
                _once_ready(self.claim.make)
            if self.is_transactional:
                self._take_at_once(change)
            else:
                self._take_loosely(change)
        self.last = change.step

    def _take_at_once(self, change: Change) -> None:
        self.producer.begin_transaction()
        try:
            self._write(change)
            reach("receiver.within")
            self._commit(change.step)
        except BaseException:
            self._abort()
            raise

    def _take_loosely(self, change: Change) -> None:
        """The messages, and once all have arrived the number; those that have not are not sent behind others later.

        No transaction tells that another process writes, so whose the topic is, and the number of the step before, are
        asked for.
        """
        self.claim.check()
        _step(self.group, self.topic, self.owner, self.where)
        try:
            self._write(change)
            self._see_delivered()
            reach("receiver.within")
        except BaseException:
            self.producer.purge()
            raise
        _in_time(lambda: self.group.commit(offsets=self._numbered(change.step), asynchronous=False))

    def _see_delivered(self) -> None:
        left = self.producer.flush(_ASKING)
        if left:
            why = f"{left} messages have not been taken"
            raise _late(why)
        if self._failed:
            raise driver().KafkaException(self._failed[0])

    def _numbered(self, step: int) -> list[Any]:
        return [driver().TopicPartition(self.topic, 0, step, metadata=_said(self.owner, step))]

    def _write(self, change: Change) -> None:
        for message in self.writing.messages(change):
            self._produce(message, change.step)

    def _produce(self, message: Written, step: int) -> None:
        headers = {"penstock-step": str(step), **({"op": message.op} if message.op else {})}
        while True:
            try:
                self.producer.produce(
                    self.topic, message.value, message.key, headers=headers, on_delivery=self._delivered
                )
            except BufferError:
                self.producer.poll(_FULL)
            else:
                return

    def _delivered(self, error: Any, _message: Any) -> None:
        if error is not None:
            self._failed.append(error)

    def _commit(self, step: int) -> None:
        numbered, group = self._numbered(step), self.group.consumer_group_metadata()
        _in_time(lambda: self.producer.send_offsets_to_transaction(numbered, group, _ASKING))
        self.producer.commit_transaction(_ASKING)

    def _abort(self) -> None:
        """End the transaction without a trace; where that cannot be said to the broker, who opens it again does."""
        with suppress(driver().KafkaException):
            self.producer.abort_transaction(_ASKING)

    def close(self) -> None:
        """Let the clients go."""
        self.producer.purge()
        self.group.close()
        self.claim.close()


def opened(sink: Sink, form: Form, owner: Owner) -> TopicReceiver:
    """The topic at work: there, this pipeline's, and free of transactions that nobody ended."""
    topic, client = TOPIC.value(sink).strip(), client_of(sink.relation, sink.what, timeout_of(sink))
    name = f"penstock/{topic}/{sink.name}"
    where = f"topic {topic} at {servers_of(sink.properties)}"
    transactional = is_transactional(sink)
    group, replaces, shared = client.consumer(lambda _error: None, group=name), replaces_others(sink), is_shared(sink)
    claim = Claim(client, topic, owner, sink.name, where, shared, _ASKING)
    try:
        with told(client, where):
            _check_topic(group, topic, where)
            if not replaces:
                _once_ready(claim.check)
            last = _once_ready(lambda: _claimed(group, topic, owner, where, replaces=replaces))
            producer = client.producer((name if shared else group_of(topic)) if transactional else None)
            if transactional:
                _once_ready(lambda: producer.init_transactions(_ASKING))
            _once_ready(lambda: claim.make(replaces=replaces))
            last = last if last is None else _once_ready(lambda: _step(group, topic, owner, where))
        key = places_of(sink, key_of(sink)) if form is Form.UPSERT or sink.keys or sink.key else ()
        writing = Writing(
            [item.name for item in sink.columns], form, key, debezium=style_of(sink) != "json", zoned=zoned_rows(sink)
        )
        return TopicReceiver(writing, owner, client, topic, producer, group, claim, last or 0, where, transactional)
    except BaseException:
        group.close()
        claim.close()
        raise


def _once_ready(work: Callable[[], T]) -> T:
    """Do what the coordinator of a group or transaction is asked for, once there is one: it moves, and loads."""
    kafka = driver().KafkaError
    soon = (kafka.NOT_COORDINATOR, kafka.COORDINATOR_LOAD_IN_PROGRESS, kafka.COORDINATOR_NOT_AVAILABLE)
    until = time.monotonic() + _ASKING
    while True:
        try:
            return work()
        except driver().KafkaException as error:
            if error.args[0].code() not in soon or time.monotonic() >= until:
                raise
        time.sleep(_FULL)


def _in_time(work: Callable[[], None]) -> None:
    """Do what the client is to have done in `_ASKING` seconds; a KafkaException if it has not.

    librdkafka waits for a group's coordinator without end where that has started again (its issue 5456). Such a call
    is left alone with its client, and whoever opens the output again has another.
    """
    ended: SimpleQueue[BaseException | None] = SimpleQueue()

    def run() -> None:
        try:
            work()
        except BaseException as error:  # noqa: BLE001 - it is raised where it is waited for
            ended.put(error)
        else:
            ended.put(None)

    threading.Thread(target=run, name="penstock-kafka", daemon=True).start()
    try:
        error = ended.get(timeout=_ASKING + 1)
    except Empty:
        why = "the coordinator does not answer"
        raise _late(why) from None
    if error is not None:
        raise error


def _late(why: str) -> Exception:
    kafka = driver()
    found: Exception = kafka.KafkaException(kafka.KafkaError(kafka.KafkaError._TIMED_OUT, why))  # noqa: SLF001 - its name
    return found


def _check_topic(group: Any, topic: str, where: str) -> None:
    found = spread(lambda: group.list_topics(topic, timeout=_ASKING).topics[topic])
    if found.error is not None and found.error.code() == driver().KafkaError.UNKNOWN_TOPIC_OR_PART:
        raise refused(where, "there is no such topic", "create it, with cleanup.policy=compact for upserts")
    if found.error is not None:
        raise driver().KafkaException(found.error)


def _claimed(group: Any, topic: str, owner: Owner, where: str, *, replaces: bool) -> int | None:
    """The step that the group has, None if the output is new; DataError if it is another pipeline's.

    Where that is to be replaced, what it has written stays in the topic, and is told apart by the steps in its headers.
    """
    (found,) = group.committed([driver().TopicPartition(topic, 0)], timeout=_ASKING)
    pipeline = (found.metadata or "").partition(_MARKED)[0]
    if found.offset >= 0 and pipeline == owner.pipeline:
        return _checked(found, owner, where)
    if found.offset >= 0 and not replaces:
        raise in_use(where, f"pipeline {pipeline}")
    ours = driver().TopicPartition(topic, 0, 0, metadata=owner.pipeline)
    group.commit(offsets=[ours], asynchronous=False)
    return None


def _step(group: Any, topic: str, owner: Owner, where: str) -> int:
    """The step that is there once no transaction is open any more."""
    (found,) = group.committed([driver().TopicPartition(topic, 0)], timeout=_ASKING)
    return _checked(found, owner, where)


def _said(owner: Owner, step: int) -> str:
    """The pipeline and the mark of a step, as the group keeps them beside its number."""
    return f"{owner.pipeline}{_MARKED}{owner.mark(step)}"


def _checked(found: Any, owner: Owner, where: str) -> int:
    """The step that the group has of this pipeline; DataError if a copy of its directory has written it."""
    step = int(found.offset)
    owner.check_mark(step, (found.metadata or "").partition(_MARKED)[2], where)
    return step


@contextmanager
def told(client: Client, where: str) -> Iterator[None]:
    """Errors of the client as ours: messages that no broker will ever take are not tried again, all others are."""
    kafka = driver()
    never = (kafka.KafkaError.MSG_SIZE_TOO_LARGE, kafka.KafkaError.TOPIC_AUTHORIZATION_FAILED)
    try:
        yield
    except kafka.KafkaException as error:
        if error.args[0].code() in never:
            raise refused(where, client.said(error)) from None
        raise unreachable(where, client.said(error)) from None
