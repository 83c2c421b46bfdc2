"""Ctrl-C while DuckDB works for the main thread: the statement is stopped, and a KeyboardInterrupt comes out of it.

Python calls a signal's handler when its main thread runs Python again, which is when the statement has ended. What
happens at once is that the signal's number is written to a descriptor (`signal.set_wakeup_fd`). A thread reads it
there and interrupts the statement, so that the handler gets its turn. DuckDB forgets an interrupt that comes while it
begins a statement: it is told again until the statement has ended.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import ClassVar, Protocol
from weakref import WeakSet

_SEEN = 0  # the byte for which nothing is stopped
_SEEN_SECONDS = 1.0
_AGAIN_SECONDS = 0.02
_RAISING = {"_signal", "penstock", "pyspark"}  # the packages of handlers that raise KeyboardInterrupt


class Interruptible(Protocol):
    """Something that works for a thread, and can be told to stop."""

    works_for: int | None  # the thread's identifier while it works and may be stopped
    works: int  # a number that each piece of work has of its own

    def interrupt(self) -> None:
        """Have the statement under way fail."""


class Interrupts:
    """The signals of a process that stop statements; whoever is to be stopped is known weakly."""

    def __init__(self) -> None:
        self._known: WeakSet[Interruptible] = WeakSet()
        self._read = self._write = -1
        self._numbers = {signal.SIGINT}
        self._seen = threading.Semaphore(0)

    def stop_at(self, number: int) -> None:
        """Count a signal whose handler does what Ctrl-C does."""
        self._numbers.add(signal.Signals(number))

    def watch(self, one: Interruptible) -> None:
        """Stop it from now on, if this is the main thread and nobody else in the process listens to signals so."""
        self._known.add(one)
        if threading.current_thread() is threading.main_thread():
            self._begin()
            before = signal.set_wakeup_fd(self._write, warn_on_full_buffer=False)
            if before not in (-1, self._write):  # an event loop's, which needs it more
                signal.set_wakeup_fd(before)

    def settle(self) -> None:
        """Wait until what has come is seen: a signal that has stopped one statement is not to stop the next."""
        if self._write >= 0:
            os.write(self._write, bytes([_SEEN]))
            self._seen.acquire(timeout=_SEEN_SECONDS)

    def _begin(self) -> None:
        if self._read < 0:
            self._read, self._write = os.pipe()
            os.set_blocking(self._write, False)
            os.register_at_fork(after_in_child=self._left_to_parent)
            threading.Thread(target=self._follow, name="penstock-interrupts", daemon=True).start()

    def _left_to_parent(self) -> None:
        """In a fork: its signals are its own."""
        if signal.set_wakeup_fd(-1) not in (-1, self._write):
            return
        self._read = self._write = -1
        self._known = WeakSet()

    def _follow(self) -> None:
        while True:
            for number in os.read(self._read, 64):
                if number == _SEEN:
                    self._seen.release()
                elif number in self._numbers and _raises(signal.getsignal(signal.SIGINT)):
                    self._stop()

    def _stop(self) -> None:
        main = threading.main_thread().ident
        for one in list(self._known):
            work = one.works
            while one.works_for == main and one.works == work:
                one.interrupt()
                time.sleep(_AGAIN_SECONDS)


def _raises(handler: object) -> bool:
    """True for a handler known to raise KeyboardInterrupt; another may want to wait, as that of a commit does."""
    if getattr(handler, "holds_back", False):
        return False
    module = getattr(handler, "__module__", None) or type(handler).__module__
    return str(module).partition(".")[0] in _RAISING


INTERRUPTS = Interrupts()


@dataclass
class Hold:
    """Holds Ctrl-C back; once `obeying`, only the first one: another `raises`."""

    arrived: int = 0
    obeying: bool = False
    raises: type[KeyboardInterrupt] = KeyboardInterrupt
    holds_back: ClassVar[bool] = True  # no statement is to be stopped now

    def obey_the_second(self) -> None:
        """From here on nothing can be torn apart any more: whoever insists is obeyed at once."""
        self.obeying = True

    def __call__(self, _number: int, _frame: FrameType | None) -> None:
        self.arrived += 1
        if self.obeying and self.arrived > 1:
            raise self.raises


@contextmanager
def undivided() -> Iterator[None]:
    """Hold Ctrl-C back until the block has ended; then it comes to whom it would have come."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    hold = Hold()
    before = signal.signal(signal.SIGINT, hold)
    try:
        yield
    finally:
        if hold.arrived:
            INTERRUPTS.settle()  # seen while it stops no statement, that is, not the next one
        signal.signal(signal.SIGINT, before)
        if hold.arrived and callable(before):
            before(signal.SIGINT, None)
