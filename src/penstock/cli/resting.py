"""A change of program in a directory in which nobody runs: opened with the program that it has, and closed again."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from penstock.bind.program.compile import compile_program
from penstock.cli.attach.answers import deployed
from penstock.cli.interpreter import declarations_of
from penstock.cli.options import EngineOptions
from penstock.cli.reporting import note
from penstock.errors import PenstockError
from penstock.pipeline.execution import declaring
from penstock.pipeline.inspection import dialect_of
from penstock.pipeline.pipeline import Pipeline
from penstock.pipeline.recovery import program_record
from penstock.steps.directory import lock_holder
from penstock.steps.events import Event, QueriesEnded, StateNotKept, StateOfOtherCode


class Resting:
    """The pipeline of a directory, as `Attached` is one in another process."""

    def __init__(self, pipeline: Pipeline, begun_in: str) -> None:
        self._pipeline = pipeline
        self._begun_in = begun_in

    def deployment(self, program: str) -> dict[str, Any]:
        """The difference between the program of the directory and another, as values."""
        with sourced(program):
            return self._pipeline.deployment(declarations_of(program, self._begun_in)).to_json()

    def deploy(self, program: str) -> dict[str, Any]:
        """Have another program take its place: the step that did it, and the changed rows of each view."""
        with sourced(program):
            return deployed(self._pipeline, declarations_of(program, self._begun_in))


@contextmanager
def sourced(program: str) -> Iterator[None]:
    """A block whose errors are about a program."""
    try:
        yield
    except PenstockError as error:
        raise error.with_source(program) from error.__cause__


def rests(directory: Path) -> bool:
    """True for the directory of a pipeline in which nobody works."""
    return directory.is_dir() and program_record(directory) is not None and lock_holder(directory) is None


def is_another(source: str, dialect: str | None, directory: Path) -> bool:
    """True if a directory belongs to another program, whose place this one can take."""
    known = program_record(directory) if directory.is_dir() else None
    if known is None:
        return False
    with sourced(source):
        return not known.is_of(declaring(compile_program(declarations_of(source, dialect), dialect)))


@contextmanager
def resting(engine: EngineOptions, directory: Path) -> Iterator[Resting]:
    """The pipeline of a directory, opened with the program that it has; its declared outputs get what they lack."""
    known = program_record(directory)
    assert known is not None  # noqa: S101 - the caller has looked
    begun_in = dialect_of(directory)
    pipeline = Pipeline(
        known.present_text,
        directory=directory,
        dialect=begun_in,
        master=engine.master,
        engine=engine.engine,
        memory_limit=engine.memory_limit,
        conf=engine.conf,
        retain="materialized",
        on_event=_told,
    )
    with pipeline:
        yield Resting(pipeline, begun_in)


def _told(event: Event) -> None:
    if isinstance(event, StateNotKept):
        note(event.message)
    elif isinstance(event, QueriesEnded | StateOfOtherCode):
        note(str(event))
