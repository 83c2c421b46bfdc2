"""Ctrl-C while Spark works: its jobs are cancelled, and Python gets its KeyboardInterrupt when the JVM has answered.

PySpark's own handler asks the JVM to cancel over the connection on which the main thread waits for an answer. That
breaks the connection, and the interrupt arrives as some Py4JError. Here another thread does the asking; the interrupt
is raised at once where Python waits for something else, and behind the answer where it waits for the JVM.
"""

from __future__ import annotations

import logging
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

if TYPE_CHECKING:
    from pyspark import SparkContext

_AGAIN_SECONDS = 0.3
_GARBAGE = "m\n"  # what py4j sends from finalizers, where nothing can be raised


class Interrupts:
    """The SIGINT handler of a SparkContext, and the guard around its calls into the JVM."""

    def __init__(self, context: SparkContext, send: Callable[..., Any]) -> None:
        self._context = context
        self._send = send
        self._pending = False

    def __call__(self, _number: int, frame: FrameType | None) -> None:
        """Ctrl-C, always in the main thread."""
        waiting = _within(frame, self.send.__code__)
        insisting, self._pending = self._pending, waiting
        call = _outermost_of_pyspark(frame)
        threading.Thread(target=self._cancel, args=(call,), name="penstock-cancel", daemon=True).start()
        if not waiting or insisting:
            self._pending = False
            raise KeyboardInterrupt

    def _cancel(self, call: FrameType | None) -> None:
        """Cancel what runs, and what the interrupted call still starts.

        A call that read rows when it was interrupted waits on its way out for the job that sends them, which may not
        have begun by now.
        """
        self._context.cancelAllJobs()
        while self._pending or _is_under_way(call):
            time.sleep(_AGAIN_SECONDS)
            if self._pending or _is_under_way(call):
                self._context.cancelAllJobs()

    def send(self, command: str, *arguments: Any, **options: Any) -> Any:
        """Send a command to the JVM; an interrupt that came meanwhile takes the place of the answer."""
        try:
            return self._send(command, *arguments, **options)
        finally:
            if self._pending and not command.startswith(_GARBAGE) and _in_main_thread():
                self._pending = False
                raise KeyboardInterrupt  # a cancelled job's error must not hide it


@contextmanager
def held_until_started() -> Iterator[None]:
    """Hold the first Ctrl-C back while a SparkContext is made, which breaks where it is half made; obey the second."""
    if not _in_main_thread():
        yield
        return
    arrived: list[int] = []

    def hold(number: int, _frame: FrameType | None) -> None:
        if arrived:
            raise KeyboardInterrupt
        arrived.append(number)

    before = signal.signal(signal.SIGINT, hold)
    try:
        yield
    finally:
        if signal.getsignal(signal.SIGINT) is hold:
            signal.signal(signal.SIGINT, before)
    if arrived:
        raise KeyboardInterrupt


# Contexts that were made on another thread than the main one, where PySpark sets no handler.
_ASIDE: WeakSet[SparkContext] = WeakSet()


def made_aside(context: SparkContext) -> None:
    """Note that a context has been made on a thread for the main one, which is still to have its handler."""
    _ASIDE.add(context)


def obey_interrupts(context: SparkContext) -> None:
    """Take the place of PySpark's handler, if that is the one in force; does nothing the second time.

    PySpark sets it when the main thread makes a context. Where another thread has made it for the main one, this one
    comes in the place of whatever handler there is, as PySpark's would have.
    """
    if not _in_main_thread():
        return
    current = signal.getsignal(signal.SIGINT)
    if "SparkContext" not in getattr(current, "__qualname__", "") and context not in _ASIDE:
        return
    _ASIDE.discard(context)
    client = context._gateway._gateway_client  # type: ignore[union-attr]  # noqa: SLF001
    handler = Interrupts(context, client.send_command)
    client.send_command = handler.send
    signal.signal(signal.SIGINT, handler)
    logging.getLogger().addFilter(is_no_interrupt)


def is_no_interrupt(record: logging.LogRecord) -> bool:
    """True if a log record is another than py4j's traceback of an interrupt that goes on anyway: a second Ctrl-C."""
    return record.msg != "KeyboardInterrupt while sending command."


def _in_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()


def _within(frame: FrameType | None, code: Any) -> bool:
    return any(each.f_code is code for each in _stack(frame))


def _outermost_of_pyspark(frame: FrameType | None) -> FrameType | None:
    """The call into PySpark that a frame belongs to, or None."""
    found = [each for each in _stack(frame) if str(each.f_globals.get("__name__")).partition(".")[0] == "pyspark"]
    return found[-1] if found else None


def _is_under_way(call: FrameType | None) -> bool:
    main = sys._current_frames().get(threading.main_thread().ident or 0)  # noqa: SLF001 - the documented way
    return call is not None and any(each is call for each in _stack(main))


def _stack(frame: FrameType | None) -> Iterator[FrameType]:
    while frame is not None:
        yield frame
        frame = frame.f_back
