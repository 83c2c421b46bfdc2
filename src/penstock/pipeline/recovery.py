"""A pipeline goes on from its directory: the steps that its log has are made again, and nobody is told of them.

    program.json   the statements that the program declares, the clock at which it began, and those deployed since
    log/           each step's accepted changes; `steps.recorded` makes its input of them
    outputs.json   which step each output has taken last: later ones are given again (`outbox`)

Of a program's other statements those that have been run are not run again; the manifests say how many.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock.errors import DataError, Diagnostic
from penstock.steps.checked_files import facts_of, write_facts
from penstock.steps.manifest import PROGRAM, SESSION, Declaration
from penstock.steps.recorded import RecordedStep, check_format, declared_since, program_since, recorded_step

if TYPE_CHECKING:
    from penstock.pipeline.execution import Execution

FORMAT = 1
Stand = Callable[["Execution", Declaration], None]


@dataclass(frozen=True)
class ProgramRecord:
    """The program that a directory belongs to: the statements that declare, and the clock at which it began.

    `deployed` are those of the program that has taken its place; the log says how, and at which step. `pending` is a
    step with which another one takes its place: it has done so if the log says it of that step. Everything up to step
    `anew` has been made again by this program: what the log says of others that had taken each other's place is not
    done.
    """

    statements: tuple[str, ...]
    began: datetime
    deployed: tuple[str, ...] | None = None
    pending: tuple[int, tuple[str, ...]] | None = None
    anew: int = 0

    def write(self, directory: Path) -> None:
        """Write it down."""
        facts: dict[str, Any] = {"format": FORMAT, "statements": self.statements, "began": self.began.isoformat()}
        if self.deployed is not None:
            facts["deployed"] = self.deployed
        if self.pending is not None:
            facts["pending"] = {"step": self.pending[0], "statements": self.pending[1]}
        if self.anew:
            facts["anew"] = self.anew
        write_facts(directory / "program.json", facts)

    def keep(self, directory: Path) -> None:
        """Write it down where only the log tells of it."""
        if not (directory / "program.json").exists():
            self.write(directory)

    @property
    def present(self) -> tuple[str, ...]:
        """The statements of the program that is at work."""
        return self.statements if self.deployed is None else self.deployed

    @property
    def text(self) -> str:
        """The program that it began with, of which the log makes the present one."""
        return _text(self.statements)

    @property
    def present_text(self) -> str:
        """The program that is at work."""
        return _text(self.present)

    def settled(self, directory: Path) -> ProgramRecord:
        """The record as the log decides it, where a change of program was under way."""
        if self.pending is None:
            return self
        step, statements = self.pending
        made = recorded_step(directory / "log", step)  # another step, if the disk was full when this one had failed
        happened = made is not None and any(item.deployed for item in made.declarations)
        return replace(self, deployed=statements if happened else self.deployed, pending=None)

    def has_itself(self, item: Declaration, step: int) -> bool:
        """True for what the log says up to a step, and is not to be done since the program takes its place."""
        own = step <= self.anew and item.by == SESSION
        return own and (item.deployed or _plain(item.text) in set(map(_plain, self.statements)))

    def is_of(self, statements: Iterable[str]) -> bool:
        """True if these are the statements of the program at work, however they are laid out."""
        return tuple(map(_plain, self.present)) == tuple(map(_plain, statements))


def program_record(directory: Path) -> ProgramRecord | None:
    """The record of a directory's program, as its log decides it; None if nothing has begun there."""
    found = _written_record(directory)
    return None if found is None else found.settled(directory)


def settle_program(directory: Path) -> None:
    """Write down what has become of a change of program that was under way: the next step is another."""
    found = _written_record(directory)
    if found is not None and found.pending is not None:
        found.settled(directory).write(directory)


def _written_record(directory: Path) -> ProgramRecord | None:
    path = directory / "program.json"
    if path.exists():
        facts = facts_of(path)
        check_format(path, facts["format"], FORMAT)
        deployed = facts.get("deployed")
        began = datetime.fromisoformat(facts["began"])
        pending = facts.get("pending")
        return ProgramRecord(
            tuple(facts["statements"]),
            began,
            None if deployed is None else tuple(deployed),
            None if pending is None else (int(pending["step"]), tuple(pending["statements"])),
            int(facts.get("anew", 0)),
        )
    first = recorded_step(directory / "log", 1)
    if first is None:
        return None
    own = [item.text for item in first.declarations if item.by == PROGRAM]
    return ProgramRecord(tuple(own), first.clock)


def _text(statements: Iterable[str]) -> str:
    return "".join(f"{statement.rstrip().rstrip(';')}\n;\n" for statement in statements)


def _plain(text: str) -> str:
    return " ".join(text.split()).rstrip("; ")


def check_program(known: ProgramRecord, statements: Iterable[str], directory: Path) -> None:
    """Refuse to go on with another program (DataError)."""
    given = list(statements)
    if known.is_of(given):
        return
    there = set(map(_plain, known.present))
    new = [text for text in given if _plain(text) not in there]
    gone = there - set(map(_plain, given))
    what = f"{new[0].split('(')[0].strip()[:60]} … is not there" if new else f"{min(gone)[:60]} … is"
    message = f"{directory} belongs to another program: in the program that wrote it {what}"
    hint = (
        "go on with that program, change it by `penstock deploy` or `penstock run --yes`, name another directory, or "
        "have --rebuild make everything again from the log"
    )
    raise DataError(Diagnostic("PROGRAM_CHANGED", message, hint=hint))


class Recovery:
    """Makes the steps of a log again."""

    def __init__(self, execution: Execution, stand: Stand, program: ProgramRecord) -> None:
        self._execution = execution
        self._stand = stand
        self._program = program
        self._stepper = execution.stepper
        self._folder = execution.stepper.log.folder

    def run(self) -> None:
        """Go through all steps that the log has behind the present one."""
        with self._muted():
            while (found := recorded_step(self._folder, self._stepper.number + 1)) is not None:
                self._step(found)
            number = self._stepper.number
            self._declared(declared_since(self._folder, number), number)
            self._stepper.goes_on_at(max(self._stepper.program, program_since(self._folder, number)))

    @contextmanager
    def _muted(self) -> Iterator[None]:
        clock, log = self._execution.clock, self._stepper.log
        log.is_silent = True
        try:
            yield
        finally:
            log.is_silent = False
            self._execution.clock = clock

    def _step(self, found: RecordedStep) -> None:
        self._declared(found.declarations, found.number)
        self._stepper.goes_on_at(found.program)
        outbox = self._execution.outbox
        changes = self._stepper.again_of(found)
        self._execution.taken.add(found.sources)
        if any(last < found.number for last in outbox.taken.steps.values()):
            outbox.again[found.number] = changes

    def _declared(self, declarations: Iterable[Declaration], step: int) -> None:
        """Declare what a step's manifest says; the program's own statements stand already."""
        for item in declarations:
            if item.by == PROGRAM or self._program.has_itself(item, step):
                self._stepper.declared_again(item)
                continue
            at = item.at
            if at is not None:
                self._execution.clock = lambda at=at: at  # type: ignore[misc]
            if item.by == SESSION:
                for statement in self._execution.parsed(item.text):
                    self._execution.declare(statement, item.text)
            else:
                self._stand(self._execution, item)
