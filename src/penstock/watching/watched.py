"""A pipeline as those see it who watch it."""

from __future__ import annotations

import os
import resource
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Protocol

from penstock.steps.facts import WaterlineFact

_STATM = Path("/proc/self/statm")


class Standing(Protocol):
    """The present standing of a pipeline: its state in a word, its last step and clock, and its error."""

    @property
    def state(self) -> str: ...
    @property
    def step(self) -> int: ...
    @property
    def clock(self) -> datetime | None: ...
    @property
    def error(self) -> BaseException | None: ...


@dataclass(frozen=True, slots=True)
class OutputProgress:
    """The progress of an output: rows that it has taken of this process, and steps that it has still to take.

    The oldest of these has waited since then, in seconds since 1970; None if there are none.
    """

    output: str
    rows: int
    waiting: int
    since: float | None


class Watched(Protocol):
    """The part of a pipeline that is asked when a step has happened, and of outputs at any time."""

    @property
    def status(self) -> Standing:
        """Where it stands; never waits."""

    def rejected(self) -> Mapping[tuple[str, str], int]:
        """The number of rows rejected so far, by relation and message."""

    def waterline_facts(self) -> Sequence[WaterlineFact]:
        """The waterlines of the columns that have LATENESS or WATERMARK."""

    def output_progress(self) -> Sequence[OutputProgress]:
        """The progress of each output, which a step that is under way may change; never waits."""


@dataclass(frozen=True, slots=True)
class PipelineFacts:
    """A pipeline as SHOW PIPELINE tells of it; times in seconds, sizes in bytes.

    `sources` and `outputs` are named as in the program. `memory` is all that the process has in memory now, `state`
    what operators keep there or on Spark, and `spilled` what of it lies in files. `deploying` says how far the new
    views of another program are that is to take the place of this one.
    """

    state: str
    step: int
    clock: datetime | None
    uptime: float
    sources: tuple[str, ...]
    outputs: tuple[str, ...]
    memory: int
    state_bytes: int
    spilled_bytes: int
    error: str = ""
    deploying: str = ""


def resident_bytes() -> int:
    """The memory that this process has; where the system does not tell, the most that it has had."""
    try:
        return int(_STATM.read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return most if sys.platform == "darwin" else most * 1024
