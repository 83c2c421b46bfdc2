"""The rows that others push into a table: read with the next step, answered once it is durable.

What a step has taken is in its manifest by the keys of the requests, and its rows in the input log; the requests
themselves are gone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from penstock.catalog.model import Table
from penstock.catalog.properties import value_place
from penstock.errors import DataError, Diagnostic
from penstock.sources.formats.choice import csv_shape
from penstock.sources.http.declared import FORMAT, LISTEN, MOST_BYTES, QUEUE_BYTES, TOKEN, address
from penstock.sources.http.requests import REMEMBERED, Request, Waiting
from penstock.sources.http.server import Route, Server, leave, listen
from penstock.sources.lag import Lag
from penstock.sources.messages.api import Message
from penstock.sources.messages.rows import MessageRows
from penstock.sources.secrets import expanded
from penstock.steps.rows.batch import Batch
from penstock.steps.rows.rejected import Rejections


@dataclass
class HttpSource:
    """The requests of one table."""

    table: Table
    rows: MessageRows
    host: str
    server: Server
    queue: Waiting
    _read: list[Request] = field(default_factory=list)
    _rejected: Counter[int] = field(default_factory=Counter)
    _steps: int = 0  # with requests, of all processes
    _step: int | None = None
    _closed: bool = False

    def read(self, rows: int, rejections: Rejections, *, ended: bool = False) -> Batch | None:  # noqa: ARG002
        """The oldest requests that wait, about so many rows."""
        self._read, self._rejected = self.queue.first(rows), Counter()
        if not self._read:
            return None
        messages, owners = [], []
        for request in self._read:
            messages += [
                Message(value, None, "request", request.number, at) for at, value in enumerate(request.messages)
            ]
            owners += [request.number] * len(request.messages)
        batch = self.rows.batch(messages, rejections)
        left = Counter(owners)
        left.subtract(int(batch.place(at).partition("/")[2].partition("@")[0]) for at in range(len(batch)))
        self._rejected = Counter({number: max(0, count) for number, count in left.items()})
        return batch

    def taken(self) -> dict[str, Any]:
        """The requests read since the last commit, in one of the places of a ring, with their keys."""
        if not self._read:
            return {}
        first, last = self._read[0].number, self._read[-1].number
        keys = [item.key for item in self._read if item.key is not None]
        at = {"request": last, "step": self._steps + 1, "keys": keys}
        item = {"place": (self._steps + 1) % REMEMBERED, "from": {"request": first - 1}, "to": at}
        return {"connector": "http", "read": [item]}

    def seek(self, taken: Mapping[str, Any]) -> None:
        """Refused: a request is gone when it is answered; its rows are in the input log."""
        message = f"table {self.table.name}: what was pushed cannot be read again ({len(taken.get('read', ()))} steps)"
        raise DataError(Diagnostic("CANNOT_READ_AGAIN", message))

    def skip(self, taken: Mapping[str, Any]) -> None:
        """Know the keys that a step has."""
        for item in taken.get("read", ()):
            end = item["to"]
            self._steps = max(self._steps, end["step"])
            self.queue.known_from(end["keys"], end["request"])

    def stepped(self, number: int) -> None:
        """The step that has what was read."""
        self._step = number

    def commit(self) -> None:
        """Answer: the step is durable."""
        if not self._read:
            return
        read, self._read = self._read, []
        self._steps += 1
        self.queue.taken(read)
        for request in read:
            request.settle(self._step, self._rejected[request.number])

    def rewind(self) -> None:
        """They go on waiting."""
        self._read = []

    def waiting(self) -> tuple[int, int]:
        """Bytes and requests that wait."""
        size, requests, _ = self.queue.size()
        return size, requests

    def behind(self) -> Lag:
        """Rows, bytes and requests that wait."""
        size, requests, rows = self.queue.size()
        return Lag(rows, size, requests)

    def close(self) -> None:
        """Stop listening for this table; those that wait are told."""
        if not self._closed:
            self._closed = True
            self.queue.close("the pipeline has ended; send it again with its Idempotency-Key once it runs")
            leave(self.host, self.server, self.table.name)

    def describe(self) -> str:
        """Where it listens."""
        return (
            f"{self.table.name} from http://{self.host}:{self.server.port}/{self.table.name} ({self.rows.format.name})"
        )


def _token(table: Table) -> str:
    """The token that a push has to bring; DataError for one that is declared and empty, which anybody would have."""
    token = expanded(TOKEN.value(table), f"table {table.name}: '{TOKEN.name}'").strip()
    if TOKEN.name in table.properties and not token:
        message = f"table {table.name}: '{TOKEN.name}' is empty, so anybody could push rows"
        hint = "give it a value, of an environment variable perhaps; without the property no token is asked for"
        raise DataError(Diagnostic("EMPTY_TOKEN", message, value_place(table, TOKEN.name), hint=hint))
    return token


def opened(table: Table, rows: MessageRows, patience: float) -> HttpSource:
    """The source of a table, which listens."""
    host, port = address(LISTEN.value(table))
    queue = Waiting(int(QUEUE_BYTES.value(table)))
    style = FORMAT.value(table)
    records = csv_shape(table).cutting if style == "csv" else None
    token = _token(table)
    route = Route(queue, style, records, token, int(MOST_BYTES.value(table)), patience)
    return HttpSource(table, rows, host, listen(host, port, table.name, route), queue)
