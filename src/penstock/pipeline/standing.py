"""A standing query as its reader sees it: the rows that it shows, emission by emission."""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import Any, Self, overload

from penstock.errors import DataError, Diagnostic, PenstockError
from penstock.steps.change import Change

MOST_WAITING = 1_000_000


@dataclass(frozen=True, eq=False)
class Emission(Sequence[tuple[Any, ...]]):
    """The rows that a standing query shows in one step, in their order; `step` and `clock` (naive UTC) are the step's.

    It is a sequence of tuples; `columns` are their names.
    """

    query: str
    columns: tuple[str, ...]
    change: Change = field(repr=False)
    step: int
    clock: datetime

    @cached_property
    def rows(self) -> tuple[tuple[Any, ...], ...]:
        """The rows, each as often as its weight says; whoever reads them first makes them of what the step gave."""
        return tuple(row for weight, row in self.change.in_order for _ in range(weight))

    @overload
    def __getitem__(self, place: int) -> tuple[Any, ...]: ...

    @overload
    def __getitem__(self, place: slice) -> tuple[tuple[Any, ...], ...]: ...

    def __getitem__(self, place: int | slice) -> tuple[Any, ...]:
        return self.rows[place]

    def __len__(self) -> int:
        return self.change.weight

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Emission):
            return NotImplemented
        return self._told == other._told and self.rows == other.rows

    def __hash__(self) -> int:
        return hash(self._told)

    @property
    def _told(self) -> tuple[Any, ...]:
        return self.query, self.columns, self.step, self.clock


def emission_of(query: str, columns: tuple[str, ...], change: Change) -> Emission:
    """The rows of a change as they are shown."""
    return Emission(query, columns, change, change.step, change.clock)


class StandingQuery(Iterator[Emission]):
    """A query that stands: it yields an `Emission` whenever its policy shows rows, and ends with the pipeline or LIMIT.

    `name` and `text` are the query's, `columns` those of the rows. It is an iterator and
    an async iterator, for one reader at a time; also a context manager, which closes it. A reader that falls a million
    rows behind is told so by a DataError (QUERY_BEHIND), and the query ends; the pipeline goes on.
    """

    def __init__(self, name: str, text: str, columns: tuple[str, ...], leave: Callable[[StandingQuery], None]) -> None:
        self.name = name
        self.text = text
        self.columns = columns
        self.shown = 0
        self._leave = leave
        self._lock = threading.Lock()
        self._waiting = 0
        self._ended = False
        self._arrived: queue.SimpleQueue[Emission | PenstockError | None] = queue.SimpleQueue()

    @property
    def has_ended(self) -> bool:
        """True if nothing more will come than what waits."""
        return self._ended

    def offer(self, emission: Emission) -> None:
        """Hand over what a step shows."""
        with self._lock:
            if self._ended:
                return
            self._waiting += len(emission)
            self.shown += len(emission)
            behind = self._waiting > MOST_WAITING
        if behind:
            message = f"query {self.name} has ended: {self._waiting:,} rows that nobody has read are too many"
            hint = (
                "the pipeline goes on; begin again and read faster, or ask for less: PERIODIC, AFTER WATERMARK, LIMIT"
            )
            self.fail(DataError(Diagnostic("QUERY_BEHIND", message, hint=hint)))
            self._leave(self)
        else:
            self._arrived.put(emission)

    def fail(self, error: PenstockError) -> None:
        """Tell the reader that the query has ended with an error."""
        self._arrived.put(error)
        self.end()

    def end(self) -> None:
        """Nothing more will come."""
        self._ended = True
        self._arrived.put(None)

    def get(self, timeout: float | None = None) -> Emission | None:
        """The next emission, or None if there was none in `timeout` seconds, or the query has ended."""
        try:
            return self._taken(self._arrived.get(timeout != 0, timeout))
        except queue.Empty:
            return None

    def __next__(self) -> Emission:
        found = self._taken(self._arrived.get())
        if found is None:
            raise StopIteration
        return found

    def _taken(self, found: Emission | PenstockError | None) -> Emission | None:
        if found is None:
            self._arrived.put(None)  # for whoever asks again
            return None
        if isinstance(found, PenstockError):
            raise found
        with self._lock:
            self._waiting -= len(found)
        return found

    def __aiter__(self) -> AsyncIterator[Emission]:
        return self._asynchronously()

    async def _asynchronously(self) -> AsyncIterator[Emission]:
        while (found := await asyncio.to_thread(self.get)) is not None:
            yield found

    def close(self) -> None:
        """End the query: it is maintained no more."""
        if not self._ended:
            self._leave(self)
            self.end()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
