"""Work that goes on beside the pipeline where it takes longer than the pipeline has patience.

One piece of work at a time has a thread. Whoever asks for it waits a moment, in which most are done, and asks again
later whether it is. What the work raises is raised where that is asked.
"""

from __future__ import annotations

import threading
from collections.abc import Callable


class Aside:
    """The place of one such piece of work."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._thread: threading.Thread | None = None
        self._error: BaseException | None = None

    @property
    def is_busy(self) -> bool:
        """True while there is work that goes on."""
        return self._thread is not None and self._thread.is_alive()

    def ended(self, work: Callable[[], None], patience: float) -> bool:
        """True if the work is done within so many seconds; raises what it has raised. None may be going on."""
        self._thread = threading.Thread(target=self._work, args=(work,), name=self._name, daemon=True)
        self._thread.start()
        self._thread.join(patience)
        self.check()
        return not self.is_busy

    def check(self) -> None:
        """Raise what work has raised that has ended since."""
        if not self.is_busy:
            error, self._error = self._error, None
            if error is not None:
                raise error

    def wait(self) -> None:
        """Return when there is no work that goes on."""
        if self._thread is not None:
            self._thread.join()

    def _work(self, work: Callable[[], None]) -> None:
        try:
            work()
        except BaseException as error:  # noqa: BLE001 - it is raised in the thread that asks
            self._error = error
