"""Live changes of one view, for a reader on any thread."""

from __future__ import annotations

import queue
from collections.abc import Callable, Iterator

from penstock.errors import PenstockError
from penstock.steps.change import Change


class Subscription(Iterator[Change]):
    """Yields a view's changes from now on, as its steps are committed; ends when the pipeline is closed.

    A step that has not changed the view gives none. It is an iterator, for one reader at a time.
    Raises DataError, once, where a run on a thread of its own has ended with an error; changes go on with the next run.
    """

    def __init__(self, view: str, leave: Callable[[Subscription], None]) -> None:
        self.view = view
        self._leave = leave
        self._arrived: queue.SimpleQueue[Change | PenstockError | None] = queue.SimpleQueue()

    def offer(self, change: Change) -> None:
        """Hand over the change of a step."""
        self._arrived.put(change)

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
            return _given(self._arrived.get(timeout=timeout))
        except queue.Empty:
            return None

    def __next__(self) -> Change:
        change = _given(self._arrived.get())
        if change is None:
            self._arrived.put(None)
            raise StopIteration
        return change

    def close(self) -> None:
        """Stop listening."""
        self._leave(self)
        self.end()


def _given(arrived: Change | PenstockError | None) -> Change | None:
    if isinstance(arrived, PenstockError):
        raise arrived
    return arrived
