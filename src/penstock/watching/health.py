"""The health of a pipeline: whether it lives, and whether it is ready to be relied upon."""

from __future__ import annotations

from typing import Any

from penstock.steps.events import Event, OutputsDone, RunFinished, RunStarted
from penstock.watching.watched import Watched


class Health:
    """Answers for a pipeline, whose events it is told."""

    def __init__(self, watched: Watched) -> None:
        self._watched = watched
        self._following = False
        self._waiting = 0

    def __call__(self, event: Event) -> None:
        """Take note of what readiness depends on."""
        match event:
            case RunStarted():
                self._following = True
            case RunFinished():
                self._following = False
            case OutputsDone():
                self._waiting = event.waiting
            case _:
                pass

    def live(self) -> tuple[bool, dict[str, Any]]:
        """False once its run has ended with an error; and the facts."""
        facts = self._facts()
        return facts["state"] != "failed", facts

    def ready(self) -> tuple[bool, dict[str, Any]]:
        """True while it follows its sources and its outputs have taken what there is; and the facts."""
        reason = self._reason()
        return reason is None, self._facts() | ({} if reason is None else {"reason": reason})

    def _reason(self) -> str | None:
        state = self._watched.status.state
        if state == "failed":
            return "its run has ended with an error"
        if state != "running" or not self._following:
            return "it does not follow its sources (yet)"
        if self._waiting:
            return f"outputs have {self._waiting} steps to take"
        return None

    def _facts(self) -> dict[str, Any]:
        status = self._watched.status
        clock = None if status.clock is None else status.clock.isoformat(" ")
        facts: dict[str, Any] = {"state": status.state, "step": status.step, "clock": clock}
        return facts if status.error is None else facts | {"error": str(status.error)}
