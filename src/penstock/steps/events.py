"""The events of a pipeline, as frozen values; the command line and the console render them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from types import MappingProxyType
from typing import Any

from penstock.circuit.measured import Measured
from penstock.steps.facts import Spilled, StateSize
from penstock.steps.phases import Phase

_NONE: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened."""


@dataclass(frozen=True, slots=True)
class StepDone(Event):
    """A step has been committed: rows received by table, entries changed by view, rows rejected by table.

    `late` counts those of the rejected that were late. `state` is what the operators keep after it, `spilled` what of
    it lies in files for want of memory. With `SET profile = 'on'`, `measured` has the operators that worked.
    `accepted_bytes` is the size of the tables' changes in memory, where they are in the process; `phases` says what
    the time was spent on.
    """

    step: int
    clock: datetime
    seconds: float
    received: Mapping[str, int] = field(default_factory=lambda: _NONE)
    changed: Mapping[str, int] = field(default_factory=lambda: _NONE)
    rejected: Mapping[str, int] = field(default_factory=lambda: _NONE)
    state: tuple[StateSize, ...] = ()
    measured: tuple[Measured, ...] = ()
    spilled: Spilled | None = None
    late: Mapping[str, int] = field(default_factory=lambda: _NONE)
    accepted_bytes: Mapping[str, int] = field(default_factory=lambda: _NONE)
    phases: tuple[Phase, ...] = ()


@dataclass(frozen=True, slots=True)
class StepRefused(Event):
    """A step failed and left no trace."""

    code: str
    message: str


@dataclass(frozen=True, slots=True)
class OutputAtLeastOnce(Event):
    """An output is opened that may be given a step twice: where it leads, and why; it has been given none yet."""

    output: str

    def __str__(self) -> str:
        return f"output {self.output}"


@dataclass(frozen=True, slots=True)
class OutputFailed(Event):
    """An output has not taken what waits for it, up to a step; it is given the same again."""

    output: str
    step: int
    message: str


@dataclass(frozen=True, slots=True)
class StateNotKept(Event):
    """The state in the directory cannot be written or read; the steps of the log are made again instead."""

    message: str


@dataclass(frozen=True, slots=True)
class StateOfOtherCode(Event):
    """A log that is cut is gone on from by the state that other code has written, which has the same form."""

    path: str
    release: str

    def __str__(self) -> str:
        return (
            f"the state in {self.path} was written by other code (release {self.release}) in the same form, and is"
            " gone on from as it is: the log is cut, so that its steps cannot be made again"
        )


@dataclass(frozen=True, slots=True)
class SourceRemark(Event):
    """Something about the source of a table that is no error, and that somebody may not expect; said at its start."""

    table: str
    message: str

    def __str__(self) -> str:
        return f"table {self.table}: {self.message}"


@dataclass(frozen=True, slots=True)
class ColumnsAdded(Event):
    """Rows of a table's source have columns that it lacked, and it has them now, with their types."""

    table: str
    columns: tuple[tuple[str, str], ...]

    def __str__(self) -> str:
        """For a person, a line for each."""
        lines = (f"table {self.table} has a new column {name} {kind}, as rows have it" for name, kind in self.columns)
        return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class QueriesEnded(Event):
    """Standing queries, by name and text, have ended with the process that worked in the directory before this one."""

    queries: tuple[tuple[str, str], ...]

    def __str__(self) -> str:
        """For a person, a line for each."""
        texts = ((name, " ".join(text.split())) for name, text in self.queries)
        lines = (f"query {name} ended with the session that asked it: {_clipped(text)}" for name, text in texts)
        return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class OutputsDone(Event):
    """The outputs have been offered what waited for them, up to a step, which took so many seconds.

    `waiting` counts the steps that have not been taken, added up over the outputs: more than 0 `since` then, in seconds
    since 1970.
    """

    step: int
    seconds: float
    waiting: int
    since: float | None = None


@dataclass(frozen=True, slots=True)
class SourceLag:
    """All that is known to wait in the source of a table, and how quickly rows come.

    `rows` are those that wait (of topics: offsets), `seconds` the age of what was read last; None where nobody knows.
    """

    table: str
    source: str
    bytes: int | None
    files: int
    rows: int | None = None
    seconds: float | None = None
    rows_per_second: float = 0.0
    idle_seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class RunStarted(Event):
    """`run` begins; the sources and outputs as they are named to the user."""

    sources: tuple[str, ...]
    outputs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RunProgress(Event):
    """The progress of `run`: totals, the rate of the last seconds, and what waits in the sources and in each."""

    steps: int
    rows: int
    rows_per_second: float
    step_rows: int
    waiting_bytes: int
    waiting_files: int
    rejected: int
    lags: tuple[SourceLag, ...] = ()


@dataclass(frozen=True, slots=True)
class RunFinished(Event):
    """`run` has ended: totals."""

    steps: int
    rows: int
    seconds: float
    changed: int
    rejected: int


_SHOWN = 100


def _clipped(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"
