"""The phases of a step, with the time that each has taken."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Literal, get_args

PhaseName = Literal["read", "merge", "intake", "engine", "emit", "log", "commit"]
PHASES: tuple[PhaseName, ...] = get_args(PhaseName)


@dataclass(frozen=True, slots=True)
class Phase:
    """A part of a step's work: when it began, in seconds since 1970, and how long it took.

    'read' is the sources' part, 'merge' tidying up state (also after the step before), 'intake' folding and judging
    rows, 'engine' the operators, 'emit' what is shown of their changes, 'log' the files, 'commit' the manifest and
    what follows it.
    """

    name: PhaseName
    began: float
    seconds: float


@dataclass
class Stopwatch:
    """The phases since the last step that has happened."""

    _phases: list[Phase] = field(default_factory=list)

    @contextmanager
    def of(self, name: PhaseName) -> Iterator[None]:
        """Measure what runs inside, if it comes to its end."""
        began, at = time.time(), time.perf_counter()
        yield
        self.add(Phase(name, began, time.perf_counter() - at))

    def add(self, phase: Phase) -> None:
        """Take a phase that somebody else has measured."""
        self._phases.append(phase)

    def taken(self) -> tuple[Phase, ...]:
        """The phases so far, which are forgotten."""
        found, self._phases = tuple(self._phases), []
        return found


def seconds_by_phase(phases: tuple[Phase, ...]) -> dict[PhaseName, float]:
    """The time of each phase that there was, in the order of a step."""
    return {
        name: sum(phase.seconds for phase in phases if phase.name == name)
        for name in PHASES
        if any(phase.name == name for phase in phases)
    }
