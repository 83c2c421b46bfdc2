"""The interface of what takes an output's changes, step after step, and the errors that it may raise."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from penstock.errors import DataError, Diagnostic
from penstock.steps.change import Change
from penstock.steps.openings import Openings


@dataclass(frozen=True, slots=True)
class Owner:
    """The pipeline that writes: the id of its directory, or one that is new each time without a directory.

    `directory` is that directory, in which a receiver may keep what it needs beside its target. A receiver that keeps
    the mark of `openings` with a step's number finds that a copy of the directory has written (`check_mark`).
    """

    pipeline: str
    directory: Path | None = None
    openings: Openings = field(default_factory=Openings)

    @property
    def lasts(self) -> bool:
        """True if a later run is the same pipeline."""
        return self.directory is not None

    def mark(self, step: int) -> str:
        """The mark of a step, to be kept with its number; empty for none."""
        return self.openings.mark(step) or ""

    def check_mark(self, step: int, mark: str | None, where: str) -> None:
        """DataError for a step that a target has of this pipeline with another mark than is known here.

        A target may keep the beginning of a mark, or none: it has steps of an earlier release.
        """
        own = self.openings.mark(step)
        if mark and own and not own.startswith(mark):
            message = f"{where} has step {step} from another copy of this pipeline's directory"
            hint = (
                "two copies of a directory are one pipeline: end one of them, and go on with the other. To have two "
                "pipelines, remove the file `id` from the copy, and name other targets there"
            )
            raise DataError(Diagnostic("COPIED_DIRECTORY", message, hint=hint))


class Receiver(Protocol):
    """An output at work. Steps come in order, each once; those that change nothing of it are left out."""

    def taken(self) -> int | None:
        """The last step of this pipeline that it has, 0 for none: asked at opening, so also after a failure.

        None if it cannot know, and takes steps at least once.
        """

    def take(self, change: Change) -> None:
        """Take one step's change, whole or not at all; `Unreachable` if the same is to be tried again later."""

    def close(self) -> None:
        """Let go: what was taken is safe. Also called after a failure, to be opened again."""


class Unreachable(DataError):  # noqa: N818 - a state of the receiver
    """The receiver does not answer, or not now: the step is given again, to one that is opened anew."""


def unreachable(where: str, why: object) -> Unreachable:
    """The error for a receiver that cannot be reached, or has gone away."""
    hint = "the step is kept and given again until 'timeout' has passed"
    return Unreachable(Diagnostic("OUTPUT_UNREACHABLE", f"{where} does not take what it is given: {why}", hint=hint))


def refused(where: str, why: object, hint: str | None = None) -> DataError:
    """The error for a receiver that will never take the step as it is."""
    return DataError(Diagnostic("OUTPUT_REFUSED", f"{where} refuses what it is given: {why}", hint=hint))


def in_use(where: str, by: str) -> DataError:
    """The error for a target into which another pipeline has written."""
    hint = "name another target; or 'on_other_pipeline' = 'replace', which empties it first"
    return DataError(Diagnostic("OUTPUT_IN_USE", f"{where} holds what another pipeline has written ({by})", hint=hint))
