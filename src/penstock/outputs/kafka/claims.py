"""Whose a topic is, as the broker keeps it: beside the offset of a group that is named by the topic.

    group penstock/<topic>    {"pipeline": …, "output": …, "shared": false}

A topic is one pipeline's, unless all of its writers say that they share it. Brokers forget what a group says when
nobody has said it for `offsets.retention.minutes`, so who writes says it again.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from penstock.errors import DataError, Diagnostic
from penstock.outputs.receiver import Owner
from penstock.sources.kafka.client import Client, driver

_AGAIN = 3600.0  # seconds, far below the minutes for which brokers keep what groups say


def group_of(topic: str) -> str:
    """The name of the group that says whose a topic is; also that of the transactions of its one writer."""
    return f"penstock/{topic}"


@dataclass
class Claim:
    """The claim of an output to its topic, and the client by which it is read and made."""

    client: Client
    topic: str
    owner: Owner
    output: str
    where: str
    shared: bool
    patience: float
    _group: Any = None
    _made: float = field(default=-_AGAIN)

    def check(self) -> None:
        """DataError if the topic is another pipeline's, and not shared by both."""
        other = self._there()
        if other is None or other.get("pipeline") == self.owner.pipeline or (self.shared and other.get("shared")):
            return
        shares = bool(other.get("shared"))
        held = "is shared by" if shares else "holds what another pipeline has written:"
        message = f"{self.where} {held} output {other.get('output')} of pipeline {other.get('pipeline')}"
        hint = (
            "name another topic; or 'on_other_pipeline' = 'replace', which takes it over, and leaves what is in it; "
            "or 'shared' = 'true' on each of the outputs, where all of them only add rows"
        )
        raise DataError(Diagnostic("OUTPUT_IN_USE", message, hint=hint))

    def make(self, *, replaces: bool = False) -> None:
        """Have the topic be the pipeline's; DataError if it is another's, unless that is to be replaced."""
        if not replaces:
            self.check()
        said = {"pipeline": self.owner.pipeline, "output": self.output, "shared": self.shared}
        ours = driver().TopicPartition(self.topic, 0, 0, metadata=json.dumps(said))
        self._asked().commit(offsets=[ours], asynchronous=False)
        self._made = time.monotonic()

    @property
    def is_old(self) -> bool:
        """True if it should be made again."""
        return time.monotonic() - self._made >= _AGAIN

    def _there(self) -> Mapping[str, Any] | None:
        """The claim that the broker knows of; None if it knows of none."""
        (found,) = self._asked().committed([driver().TopicPartition(self.topic, 0)], timeout=self.patience)
        if found.offset < 0:
            return None
        try:
            told = json.loads(found.metadata or "{}")
        except ValueError:
            told = None
        return told if isinstance(told, Mapping) else {}

    def _asked(self) -> Any:
        if self._group is None:
            self._group = self.client.consumer(lambda _error: None, group=group_of(self.topic))
        return self._group

    def close(self) -> None:
        """Let the client go; what is said stays."""
        if self._group is not None:
            self._group.close()
            self._group = None
