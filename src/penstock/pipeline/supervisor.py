"""A run of a pipeline: the one that is under way, on the caller's thread or its own, and what became of the last."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, Protocol

from penstock.errors import DataError, Diagnostic, PenstockError

State = Literal["running", "stopped", "failed"]


@dataclass(frozen=True, slots=True)
class Status:
    """Where a pipeline stands: its last step with its clock (naive UTC), and the error that ended its last run."""

    state: State
    step: int
    clock: datetime | None = None
    error: BaseException | None = None


class Loop(Protocol):
    """A loop that can be run: `RunLoop`."""

    def run(self, *, once: bool) -> None:
        """Step until `stop()`, or with `once` until the sources are used up."""

    def stop(self) -> None:
        """End after the step that is under way."""


class Supervisor:
    """At most one run at a time; `failed` is told of the error that ends one on a thread of its own."""

    def __init__(self, failed: Callable[[BaseException], None]) -> None:
        self._failed = failed
        self._guard = threading.Lock()
        self._loop: Loop | None = None
        self._thread: threading.Thread | None = None
        self._working: int | None = None  # the thread of the run
        self._untold: BaseException | None = None
        self._on_thread = False
        self.error: BaseException | None = None

    @property
    def state(self) -> State:
        """'running', else 'failed' if the last run has ended with an error, else 'stopped'."""
        with self._guard:
            if self._loop is not None:
                return "running"
            return "stopped" if self.error is None else "failed"

    @property
    def thread_error(self) -> BaseException | None:
        """The error that has ended the last run, if that was on a thread of its own and no other has begun."""
        with self._guard:
            return self.error if self._loop is None and self._on_thread else None

    def runs_elsewhere(self) -> bool:
        """True while a run is under way on another thread."""
        with self._guard:
            return self._loop is not None and self._working != threading.get_ident()

    def run(self, loop: Loop, *, once: bool) -> None:
        """Run on this thread; an error comes out of the call, so that nobody else has to say it.

        DataError (RUNNING) while another run is under way.
        """
        self._begin(loop)
        self._working = threading.get_ident()
        try:
            loop.run(once=once)
        except Exception as error:
            self._end(loop, error, told=True)
            raise
        finally:
            self._end(loop)

    def start(self, loop: Loop) -> None:
        """Run on a thread of its own; DataError (RUNNING) while another run is under way."""
        self._begin(loop)
        self._thread = threading.Thread(target=self._guarded, args=(loop,), name="penstock-run", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End after the step that is under way; raises what the thread has failed with, if no call has said it."""
        with self._guard:
            loop, thread, self._loop = self._loop, self._thread, None
        if loop is not None:
            loop.stop()
        if thread is not None and thread is not threading.current_thread():
            thread.join()
        error = self._tell()
        if error is not None:
            raise error

    def check(self) -> None:
        """Raises DataError if the thread has failed and no call has said it."""
        error = self._tell()
        if error is not None:
            raise run_failed(error)

    def _guarded(self, loop: Loop) -> None:
        self._working = threading.get_ident()
        try:
            loop.run(once=False)
        except BaseException as error:  # noqa: BLE001 - kept for who calls next
            self._end(loop, error, told=False)
            self._failed(error)
        else:
            self._end(loop)

    def _begin(self, loop: Loop) -> None:
        with self._guard:
            if self._loop is not None:
                message = "the pipeline runs already"
                raise DataError(
                    Diagnostic("RUNNING", message, hint="stop() ends that; subscribe() needs no second run")
                )
            self._loop, self.error, self._untold = loop, None, None

    def _end(self, loop: Loop, error: BaseException | None = None, *, told: bool = True) -> None:
        """The loop is over, unless another has begun; its error is kept for `status`, and until somebody is told."""
        with self._guard:
            if self._loop is loop:
                self._loop = None
            if error is not None:
                self.error, self._untold, self._on_thread = error, None if told else error, not told

    def _tell(self) -> BaseException | None:
        with self._guard:
            error, self._untold = self._untold, None
            return error


def run_failed(error: BaseException) -> DataError:
    """The error that a reader is given for a run that ended with `error` on a thread of its own."""
    said = error.summary if isinstance(error, PenstockError) else f"{type(error).__name__}: {error}"
    message = f"the run that `start()` began has ended with an error: {said}"
    hint = "Once its cause is gone, `run()` or `start()` goes on where it was; until then contents stay as they are."
    found = DataError(Diagnostic("RUN_FAILED", message, hint=hint))
    found.__cause__ = error
    return found
