"""Live changes of one view, for a reader on any thread."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator

from penstock.errors import DataError, Diagnostic, PenstockError
from penstock.pipeline.standing import MOST_WAITING
from penstock.steps.change import Change


class Subscription(Iterator[Change]):
    """Yields a view's changes from now on, as its steps are committed; ends when the pipeline is closed.

    A step that has not changed the view gives none. It is an iterator, for one reader at a time.
    Raises DataError, once, where a run on a thread of its own has ended with an error; changes go on with the next run.
    A reader that falls a million rows behind gets what waits, is told so by a DataError (QUERY_BEHIND), and has no
    more changes; the pipeline goes on.
    """

    def __init__(self, view: str, leave: Callable[[Subscription], None]) -> None:
        self.view = view
        self._leave = leave
        self._lock = threading.Lock()
        self._waiting = 0
        self._arrived: queue.SimpleQueue[tuple[Change, int] | PenstockError | None] = queue.SimpleQueue()

    def offer(self, change: Change) -> None:
        """Hand over the change of a step."""
        size = _size(change)
        with self._lock:
            self._waiting += size
            waiting = self._waiting
        if waiting <= MOST_WAITING:
            self._arrived.put((change, size))
            return
        message = f"changes of {self.view} end here: {waiting:,} rows that nobody has read are too many"
        hint = "the pipeline goes on; begin again and read faster, or close() what is read no more"
        self.fail(DataError(Diagnostic("QUERY_BEHIND", message, hint=hint)))
        self.close()

    def fail(self, error: PenstockError) -> None:
        """Tell whoever waits, or asks next, that what brought the changes has ended with an error."""
        self._arrived.put(error)

    def end(self) -> None:
        """No more changes will come."""
        self._arrived.put(None)

    def get(self, timeout: float | None = None) -> Change | None:
        """The next change, or None when there was none in `timeout` seconds or the pipeline has been closed.

        Without a timeout it waits for as long as it takes.
        """
        try:
            return self._taken(self._arrived.get(timeout=timeout))
        except queue.Empty:
            return None

    def __next__(self) -> Change:
        change = self._taken(self._arrived.get())
        if change is None:
            raise StopIteration
        return change

    def close(self) -> None:
        """Stop listening."""
        self._leave(self)
        self.end()

    def _taken(self, arrived: tuple[Change, int] | PenstockError | None) -> Change | None:
        if arrived is None:
            self._arrived.put(None)  # for whoever asks again
            return None
        if isinstance(arrived, PenstockError):
            raise arrived
        change, size = arrived
        with self._lock:
            self._waiting -= size
        return change


def _size(change: Change) -> int:
    """The rows of a change; each takes room, and so counts for one at least."""
    return 1 if change.delta is None else max(1, change.delta.count())
