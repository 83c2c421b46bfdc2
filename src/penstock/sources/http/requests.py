"""Requests that wait for a step, within a bound, and the keys of those that a step has.

A key that comes again is answered as it was the first time. Those of the last thousand steps with requests are known,
also after a restart: they are a part of the position that a manifest has.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

REMEMBERED = 1000  # steps whose keys are known


@dataclass(eq=False)
class Request:
    """One request: its messages, its key, and, once it is `done`, what became of it."""

    number: int
    messages: Sequence[bytes]
    size: int
    key: str | None = None
    done: threading.Event = field(default_factory=threading.Event)
    step: int | None = None
    rejected: int = 0
    failed: str = ""
    repeated: bool = False

    def settle(self, step: int | None, rejected: int = 0) -> None:
        """A step has it."""
        self.step, self.rejected = step, rejected
        self.done.set()

    def fail(self, why: str) -> None:
        """Nobody will take it."""
        self.failed = why
        self.done.set()


class Waiting:
    """The requests of one table, in the order in which they came; safe to use from any thread."""

    def __init__(self, most_bytes: int) -> None:
        self._most = most_bytes
        self._lock = threading.Lock()
        self._waiting: list[Request] = []
        self._bytes = 0
        self._number = 0
        self._known: OrderedDict[str, Request] = OrderedDict()
        self._steps: list[list[str]] = []
        self._closed = ""

    def put(self, messages: Sequence[bytes], size: int, key: str | None) -> Request | None:
        """A request that waits from now on, or the one that had its key before; None if there is no room."""
        with self._lock:
            known = None if key is None else self._known.get(key)
            if known is not None:
                known.repeated = True
                return known
            if self._waiting and self._bytes + size > self._most:
                return None
            self._number += 1
            found = Request(self._number, messages, size, key)
            if self._closed:
                found.fail(self._closed)
                return found
            self._waiting.append(found)
            self._bytes += size
            if key is not None:
                self._known[key] = found
            return found

    def first(self, rows: int) -> list[Request]:
        """The oldest that together have about so many rows, at least one; they go on waiting."""
        found: list[Request] = []
        with self._lock:
            for request in self._waiting:
                if found and rows < len(request.messages):
                    break
                found.append(request)
                rows -= len(request.messages)
        return found

    def taken(self, requests: Sequence[Request]) -> None:
        """A step has these: they wait no more, and their keys are remembered for a while."""
        gone = set(map(id, requests))
        with self._lock:
            self._waiting = [item for item in self._waiting if id(item) not in gone]
            self._bytes = sum(item.size for item in self._waiting)
            self._remember([item.key for item in requests if item.key is not None])

    def known_from(self, keys: Iterable[str], number: int) -> None:
        """Keys that a step of an earlier process has, and the number of its last request."""
        with self._lock:
            keys = list(keys)
            for key in keys:
                request = Request(0, (), 0, key)
                request.settle(None)
                self._known[key] = request
            self._remember(keys)
            self._number = max(self._number, number)

    def _remember(self, keys: list[str]) -> None:
        self._steps.append(keys)
        while len(self._steps) > REMEMBERED:
            for key in self._steps.pop(0):
                self._known.pop(key, None)

    def close(self, why: str) -> None:
        """Nobody reads any more: those that wait, and all that come, are told so."""
        with self._lock:
            waiting, self._waiting, self._bytes, self._closed = self._waiting, [], 0, why
            for request in waiting:
                self._known.pop(request.key or "", None)
        for request in waiting:
            request.fail(why)

    def size(self) -> tuple[int, int, int]:
        """Bytes, requests and rows that wait."""
        with self._lock:
            return self._bytes, len(self._waiting), sum(len(item.messages) for item in self._waiting)
