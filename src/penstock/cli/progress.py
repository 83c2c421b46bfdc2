"""The progress of a run, on stderr: one line that is drawn again on a terminal, a line every few seconds elsewhere."""

from __future__ import annotations

import time
from datetime import UTC, datetime

from rich.console import Console
from rich.live import Live
from rich.text import Text

from penstock.steps.events import (
    ColumnsAdded,
    Event,
    OutputAtLeastOnce,
    OutputFailed,
    QueriesEnded,
    RunFinished,
    RunProgress,
    RunStarted,
    SourceRemark,
    StateNotKept,
    StateOfOtherCode,
    StepDone,
    StepRefused,
)

_SECONDS_BETWEEN_LINES = 5.0


class Progress:
    """Renders the events of a run, or keeps quiet."""

    def __init__(self, *, quiet: bool = False) -> None:
        self._console = Console(stderr=True, highlight=False)
        self._quiet = quiet
        self._live: Live | None = None
        self._last: RunProgress | None = None
        self._step = 0
        self._clock: datetime | None = None
        self._printed = 0.0
        self._spills = False

    def __call__(self, event: Event) -> None:
        """Show one event."""
        match event:
            case RunStarted():
                self._started(event)
            case StepDone():
                self._step, self._clock = event.step, event.clock
                self._say_spilled(event)
                self._draw()
            case RunProgress():
                self._last = event
                self._draw()
            case OutputFailed():
                self._say(f"{event.output} has not taken step {event.step}, trying again: {event.message}")
            case StateNotKept():
                self._say(event.message)
            case ColumnsAdded() | OutputAtLeastOnce() | QueriesEnded() | SourceRemark() | StateOfOtherCode():
                self._say(str(event))
            case StepRefused():
                self._say(f"step refused ({event.code}): {event.message}")
            case RunFinished():
                self._finished(event)

    def _started(self, event: RunStarted) -> None:
        if self._quiet:
            return
        if event.sources:
            self._say(f"following {', '.join(event.sources)}")
        if self._console.is_terminal:
            self._live = Live(console=self._console, refresh_per_second=4, transient=True)
            self._live.start()

    def _say_spilled(self, event: StepDone) -> None:
        if event.spilled is not None and not self._spills:
            self._spills = True
            allowed = f"{event.spilled.limit / 1e6:,.0f} MB (memory_limit)"
            self._say(f"state has outgrown {allowed}; what is more lies in {event.spilled.folder}")

    def _draw(self) -> None:
        if self._quiet or self._last is None:
            return
        if self._live is not None:
            self._live.update(Text(self._line(self._last)))
        elif time.monotonic() - self._printed > _SECONDS_BETWEEN_LINES:
            self._printed = time.monotonic()
            self._say(self._line(self._last))

    def _line(self, progress: RunProgress) -> str:
        parts = [
            f"step {self._step}",
            f"{progress.rows:,} rows",
            f"{progress.rows_per_second:,.0f} rows/s",
            self._lag(progress),
        ]
        if progress.rejected:
            parts.append(f"{progress.rejected:,} rejected (see error_view)")
        return " · ".join(parts)

    def _lag(self, progress: RunProgress) -> str:
        if progress.waiting_files:
            return f"lag {progress.waiting_files:,} files, {progress.waiting_bytes / 1e6:,.1f} MB"
        behind = 0.0 if self._clock is None else (datetime.now(UTC).replace(tzinfo=None) - self._clock).total_seconds()
        return f"lag {max(behind, 0.0):.1f} s"

    def _finished(self, event: RunFinished) -> None:
        if self._live is not None:
            self._live.stop()
            self._live = None
        if self._quiet:
            return
        rate = event.rows / event.seconds if event.seconds else 0.0
        rejected = f", {event.rejected:,} rejected (see error_view)" if event.rejected else ""
        self._say(
            f"{event.steps:,} steps, {event.rows:,} rows in {event.seconds:.1f} s ({rate:,.0f} rows/s), "
            f"{event.changed:,} changed rows{rejected}"
        )

    def say(self, text: str) -> None:
        """One line beside the progress, also of a run that is quiet about it."""
        self._console.print(text, markup=False, soft_wrap=True)

    def _say(self, text: str) -> None:
        if not self._quiet:
            self.say(text)
