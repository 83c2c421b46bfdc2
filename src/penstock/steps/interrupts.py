"""Ctrl-C while a step is being kept: it waits, for half of a step must never be."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from penstock.backends.native.interrupts import Hold


class InterruptedAfterStep(KeyboardInterrupt):
    """Ctrl-C that came while a step was being kept: the step has happened."""


def interrupt_behind(error: BaseException) -> KeyboardInterrupt | None:
    """The interrupt that an error was raised on the way out of, such as "job cancelled"."""
    found: BaseException | None = error
    while found is not None and not isinstance(found, KeyboardInterrupt):
        found = found.__context__
    return found


class _Noted:
    """The blocks of `noted` in the main thread, one within the other, and whether Ctrl-C has come since the first."""

    depth = 0
    arrived = False


@contextmanager
def noted(note: Callable[[], None] = lambda: None) -> Iterator[bool]:
    """Have Ctrl-C be noted before it is raised: Python drops an exception that comes while a finalizer runs.

    Gives whether one has come already, within a block of the same around this one.
    """
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(before):
        yield False
        return

    def noting(number: int, frame: FrameType | None) -> None:
        _Noted.arrived = True
        note()
        before(number, frame)

    if _Noted.depth == 0:
        _Noted.arrived = False
    _Noted.depth += 1
    signal.signal(signal.SIGINT, noting)
    try:
        yield _Noted.arrived
    finally:
        _Noted.depth -= 1
        if signal.getsignal(signal.SIGINT) is noting:  # Spark sets a handler of its own when it starts
            signal.signal(signal.SIGINT, before)


@contextmanager
def uninterrupted() -> Iterator[Hold]:
    """Hold Ctrl-C back until the block has ended; then it is InterruptedAfterStep."""
    hold = Hold(raises=InterruptedAfterStep)
    if threading.current_thread() is not threading.main_thread():
        yield hold
        return
    before = signal.signal(signal.SIGINT, hold)
    try:
        yield hold
    finally:
        signal.signal(signal.SIGINT, before)
    if hold.arrived:
        raise InterruptedAfterStep
