"""Events as lines of JSON: one for each step, and one for what else somebody may want to be woken by."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from penstock.errors import PenstockError
from penstock.steps.events import (
    ColumnsAdded,
    Event,
    OutputAtLeastOnce,
    OutputFailed,
    QueriesEnded,
    RunFinished,
    RunStarted,
    SourceRemark,
    StateNotKept,
    StateOfOtherCode,
    StepDone,
    StepRefused,
)
from penstock.steps.phases import seconds_by_phase
from penstock.watching.watched import Watched

_INFO, _WARNING, _ERROR = "info", "warning", "error"


class EventLog:
    """Writes a line for each event; with `watched`, waterlines are on those of steps."""

    def __init__(self, write: Callable[[str], object]) -> None:
        self._write = write
        self.watched: Watched | None = None

    def __call__(self, event: Event) -> None:
        """Write the line of an event, if it has one."""
        match event:
            case StepDone():
                self._line("step", _INFO, _step(event) | self._waterlines())
            case RunStarted():
                self._line("started", _INFO, {"sources": event.sources, "outputs": event.outputs})
            case RunFinished():
                self._line("finished", _INFO, _finished(event))
            case OutputAtLeastOnce():
                self._line("at least once", _WARNING, {"output": event.output})
            case OutputFailed():
                found = {"output": event.output, "step": event.step, "message": event.message}
                self._line("output failed", _WARNING, found)
            case ColumnsAdded():
                self._line("columns added", _INFO, {"table": event.table, "columns": dict(event.columns)})
            case SourceRemark():
                self._line("source remark", _WARNING, {"table": event.table, "message": event.message})
            case QueriesEnded():
                self._line("queries ended", _INFO, {"queries": dict(event.queries)})
            case StateNotKept():
                self._line("state not kept", _WARNING, {"message": event.message})
            case StateOfOtherCode():
                self._line("state of other code", _WARNING, {"path": event.path, "release": event.release})
            case StepRefused():
                self._line("step refused", _WARNING, {"code": event.code, "message": event.message})
            case _:
                pass

    def say(self, text: str) -> None:
        """A line for the person, as a line of the log."""
        self._line("note", _WARNING if text.startswith("rejected") else _INFO, {"message": text})

    def failed(self, error: PenstockError) -> None:
        """The error that has ended the run."""
        for item in error.diagnostics:
            self._line("error", _ERROR, item.to_json(error.source))

    def _waterlines(self) -> dict[str, Any]:
        facts = [] if self.watched is None else self.watched.waterline_facts()
        return {"waterlines": {fact.name: _text(fact.waterline) for fact in facts}}

    def _line(self, event: str, level: str, values: Mapping[str, Any]) -> None:
        at = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        self._write(json.dumps({"at": at, "level": level, "event": event, **values}, ensure_ascii=False, default=_text))


def _step(event: StepDone) -> dict[str, Any]:
    return {
        "step": event.step,
        "clock": event.clock.isoformat(" "),
        "seconds": round(event.seconds, 6),
        "phases": {name: round(seconds, 6) for name, seconds in seconds_by_phase(event.phases).items()},
        "received": dict(event.received),
        "changed": dict(event.changed),
        "late": dict(event.late),
        "rejected": dict(event.rejected),
    }


def _finished(event: RunFinished) -> dict[str, Any]:
    return {
        "steps": event.steps,
        "received": event.rows,
        "changed": event.changed,
        "rejected": event.rejected,
        "seconds": round(event.seconds, 3),
    }


def _text(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat(" ")
    return value if value is None or isinstance(value, int | float) else str(value)
