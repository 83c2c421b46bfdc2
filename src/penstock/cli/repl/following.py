"""`.run`, `.step` and `.stop`: the shell follows the sources of its program, as `penstock run` does."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from penstock.cli.reporting import note
from penstock.errors import Diagnostic, PenstockError, SqlError
from penstock.pipeline.run import RunOptions
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
)
from penstock.steps.interrupts import interrupt_behind

if TYPE_CHECKING:
    from penstock.pipeline.pipeline import Pipeline
    from penstock.sources.api import Output
    from penstock.steps.change import Change

    Write = Callable[[Mapping[str, Change]], None]

ENDS = {"": "Ctrl-C ends it", "once": "until the input is used up", "&": "in the background; .stop ends it"}
_ALL = RunOptions().most_rows


class _Shown:
    """The shell as an output of a run."""

    def __init__(self, write: Write) -> None:
        self.write = write

    def close(self) -> None:
        """Everything is shown already."""

    def describe(self) -> str:
        return "the shell"


class Following:
    """The runs of a shell's pipeline, at most one at a time; `write` is given the changes of each step."""

    def __init__(self, pipeline: Pipeline, write: Write) -> None:
        self._pipeline = pipeline
        self._write = write
        self._in_background = False

    def step(self) -> None:
        """One step with all that the sources have now."""
        self._refuse_second()
        self._pipeline.run(outputs=self._outputs(), options=RunOptions(first_rows=_ALL, most_steps=1))

    def run(self, way: str) -> None:
        """Follow until Ctrl-C, or `once` until the input is used up, or in the background with `&`."""
        if way not in ENDS:
            hint = "; ".join(f".run {word}".strip() + f": {end}" for word, end in ENDS.items())
            raise SqlError(Diagnostic("UNKNOWN_COMMAND", f".run cannot be told {way[:40]!r}", hint=hint))
        self._refuse_second()
        if way == "&":
            self._pipeline.start(outputs=self._outputs())
            self._in_background = True
        else:
            self._run_here(once=way == "once")

    def _run_here(self, *, once: bool) -> None:
        try:
            self._pipeline.run(once=once, outputs=self._outputs())
        except KeyboardInterrupt:
            self._pipeline.stop()
        except Exception as error:
            if interrupt_behind(error) is None:
                raise
            self._pipeline.stop()

    def stop(self) -> None:
        """End what `.run &` began; raises what it has failed with."""
        self._in_background = False
        self._pipeline.stop()

    def tell(self) -> None:
        """Raise what has ended the run in the background, once."""
        if self._in_background and self._pipeline.status.state != "running":
            self.stop()

    def interrupted(self) -> None:
        """Ctrl-C has cancelled all that Spark did, what `.run &` has under way too: end that in order."""
        if not self._in_background:
            return
        try:
            self.stop()
        except PenstockError as error:
            note(f"what .run & had under way was stopped as well: {error.summary}")
        note("no source is followed any more; .run & goes on where it was")

    def _outputs(self) -> tuple[Output, ...]:
        return (_Shown(self._write),)

    def _refuse_second(self) -> None:
        self.tell()
        if self._in_background:
            message = "the sources are followed in the background already"
            raise SqlError(Diagnostic("RUNNING", message, hint=".stop ends that"))


def told(event: Event) -> None:
    """Say what a person wants to know of a run; the changes are shown apart."""
    match event:
        case RunStarted(sources=sources) if sources:
            note(f"following {', '.join(sources)}")
        case RunFinished() if event.steps:
            rejected = f", {event.rejected:,} rejected (see error_view)" if event.rejected else ""
            note(f"{event.steps:,} step{'' if event.steps == 1 else 's'}, {event.rows:,} rows{rejected}")
        case StateNotKept(message=message):
            note(message)
        case ColumnsAdded() | OutputAtLeastOnce() | QueriesEnded() | SourceRemark() | StateOfOtherCode():
            note(str(event))
        case OutputFailed():
            note(f"{event.output} has not taken step {event.step}: {event.message}")
