"""What comes next of a topic, fetched and read by a thread of its own while a step is at work.

One lot at most is ahead, and only while there is more to come than has been fetched: where results follow each event,
nothing is.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field

from penstock.sources.kafka.consuming import Fetched
from penstock.steps.rows.batch import Batch
from penstock.steps.rows.rejected import Rejections


@dataclass(frozen=True, slots=True)
class Lot:
    """Messages, the rows that they are, and those that are none."""

    messages: Fetched
    rows: Batch
    rejections: Rejections


@dataclass
class Ahead:
    """The lot that is being made, if one is."""

    asked: threading.Event = field(default_factory=threading.Event)  # set once the lot is waited for
    _thread: threading.Thread | None = None
    _made: list[Lot | None] = field(default_factory=list)
    _failed: list[BaseException] = field(default_factory=list)

    def begin(self, made: Callable[[], Lot | None]) -> None:
        """Have a lot made; None is one of no messages."""
        self.asked.clear()
        self._thread = threading.Thread(target=self._make, args=(made,), name="penstock-kafka", daemon=True)
        self._thread.start()

    def _make(self, made: Callable[[], Lot | None]) -> None:
        try:
            self._made.append(made())
        except BaseException as error:  # noqa: BLE001 - it is raised where the lot is asked for
            self._failed.append(error)

    def lot(self) -> Lot | None:
        """The lot that was begun, waited for; None if none was, or nothing has come. What has failed is raised."""
        made, failed = self._ended()
        if failed:
            raise failed[0]
        return made[0] if made else None

    def drop(self) -> None:
        """Forget what is ahead, which is going to be read again from elsewhere."""
        self._ended()

    def _ended(self) -> tuple[list[Lot | None], list[BaseException]]:
        self.asked.set()
        if self._thread is not None:
            self._thread.join()
        found = self._made, self._failed
        self._thread, self._made, self._failed = None, [], []
        return found
