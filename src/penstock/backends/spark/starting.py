"""The session that a program will need, begun on a thread of its own before anybody asks for it.

The thread finds out whether it is needed at all, starts the JVM, and makes the SparkContext. Whoever asks first waits
for it, and opens the session in its own thread, as if it had begun just then: what belongs to a thread, such as the
handler of Ctrl-C, is that one's. An error of the start is raised there.

    expected  →  judged: is it needed?  →  JVM  →  SparkContext  →  who asks first waits, and opens the session
                                                                →  or `leave`: the JVM ends, whatever it is at
"""

from __future__ import annotations

import atexit
import logging
import threading
import time
from collections.abc import Callable
from typing import Protocol

_NAME = "penstock-start"
_AGAIN, _PATIENCE = 0.1, 10.0  # seconds that the thread gets to find that its JVM is gone


class Beginning(Protocol):
    """A session in the making."""

    def begin(self) -> None:
        """Start what a session needs; raises why that cannot be."""

    def give_up(self) -> None:
        """Have `begin`, on another thread, end at once with an error."""

    def undo(self) -> None:
        """Leave nothing of what has been begun, unless somebody uses it."""


class Expected:
    """A session that will be asked for, if `judged` says so."""

    def __init__(self, beginning: Beginning, judged: Callable[[], bool]) -> None:
        self._beginning = beginning
        self._judged = judged
        self._judgement = threading.Event()
        self._done = threading.Event()  # a thread whose `join` Ctrl-C has ended says that it is over, and is not
        self._wanted = False
        self._left = False
        self._error: BaseException | None = None
        atexit.register(self.leave)
        threading.Thread(target=self._run, name=_NAME, daemon=True).start()

    @property
    def is_wanted(self) -> bool:
        """True if the session is needed, which a moment may have to be waited for."""
        self._judgement.wait()
        return self._wanted

    def wait(self) -> None:
        """Wait until it has been begun, or has failed; Ctrl-C ends the waiting, and not the start."""
        self._done.wait()

    def check(self) -> None:
        """Raise what the start has failed with; the session is its user's from now on, and not left any more."""
        atexit.unregister(self.leave)
        if self._error is not None:
            raise self._error

    def leave(self) -> None:
        """Have nothing be left of it: nobody asks for it any more."""
        atexit.unregister(self.leave)
        self._left, last = True, time.monotonic() + _PATIENCE
        logging.getLogger().addFilter(is_no_farewell)
        try:
            while not self._done.is_set() and time.monotonic() < last:
                self._beginning.give_up()
                if not self._judgement.is_set():
                    break  # nothing is begun any more, and the judgement need not be waited for
                self._done.wait(_AGAIN)
        finally:
            logging.getLogger().removeFilter(is_no_farewell)
        self._beginning.undo()

    def _run(self) -> None:
        try:
            self._wanted = self._judged() and not self._left
            self._judgement.set()
            if self._wanted:
                self._beginning.begin()
        except BaseException as error:  # noqa: BLE001 - whoever asks for the session is told
            self._error = error
        finally:
            self._judgement.set()
            self._done.set()


def is_no_farewell(record: logging.LogRecord) -> bool:
    """True if a log record is another than py4j's traceback of a JVM that was ended while this thread asked it."""
    return record.threadName != _NAME
