"""The loop of `penstock sql`: read a statement, run it, show its result; nothing that goes wrong ends the loop."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Protocol, TextIO

from penstock.catalog.model import Catalog
from penstock.cli.interpreter import Interpreter
from penstock.cli.repl.commands import run_command
from penstock.cli.repl.following import Following
from penstock.cli.repl.output import OutputFile
from penstock.cli.repl.statement import is_complete
from penstock.cli.reporting import note, report, report_bug
from penstock.errors import Diagnostic, PenstockError, SqlError
from penstock.steps.interrupts import InterruptedAfterStep, interrupt_behind

if TYPE_CHECKING:
    from penstock.cli.interpreter import Results
    from penstock.pipeline.pipeline import Pipeline
    from penstock.steps.change import Change

PROMPT, IN_TRANSACTION = "penstock> ", "penstock*> "


class Target(Protocol):
    """Where the shell's statements are run: a pipeline of its own, or one in another process."""

    results: Results

    @property
    def catalog(self) -> Catalog:
        """Everything that is declared now."""

    @property
    def in_transaction(self) -> bool:
        """True between BEGIN and its end."""

    def run_text(self, text: str) -> None:
        """Run each statement of a text; the first that is refused ends it."""


class Shell:
    """One interactive session. `read` gives the next input for a prompt; KeyboardInterrupt drops it, EOFError ends."""

    def __init__(self, target: Target, read: Callable[[str], str]) -> None:
        self.target = target
        self.timing = False
        self.show_changes = True
        self.output = OutputFile()
        self.following = Following(target.pipeline, self._changed) if isinstance(target, Interpreter) else None
        self._read = read
        self._write = target.results.on_changes
        target.results.on_changes = self._changed

    @property
    def catalog(self) -> Catalog:
        """The catalog of all that is declared now."""
        return self.target.catalog

    @property
    def pipeline(self) -> Pipeline:
        """The shell's own pipeline; SqlError if there is none."""
        if isinstance(self.target, Interpreter):
            return self.target.pipeline
        message = "the pipeline runs in another process, where only its answers can be had"
        raise SqlError(Diagnostic("READ_ONLY", message, hint="ask a query, SHOW, DESCRIBE or EXPLAIN"))

    def _changed(self, changes: Mapping[str, Change]) -> None:
        if self.show_changes:
            self._write(changes)
        if isinstance(self.target, Interpreter):
            self.target.emissions.show()

    def loop(self, *, until_failure: bool = False) -> bool:
        """Until Ctrl-D or .quit, or with `until_failure` the first refusal; True if the last input went well."""
        try:
            return self._loop(until_failure=until_failure)
        finally:
            self.output.close()

    def _loop(self, *, until_failure: bool) -> bool:
        while True:
            if self.following is not None:
                self._guarded(self.following.tell)
            try:
                text = self._read(IN_TRANSACTION if self.target.in_transaction else PROMPT)
            except KeyboardInterrupt:
                continue
            except EOFError:
                return True
            try:
                fine = self.guarded(text)
            except EOFError:
                return True
            if until_failure and not fine:
                return False

    def guarded(self, text: str) -> bool:
        """Run what was typed; whatever goes wrong becomes a message. True if all went well."""
        began = time.perf_counter()
        if text.lstrip().startswith("."):
            fine = self._guarded(lambda: run_command(self, text))
        else:
            fine = self._guarded(lambda: self.run_sql(text))
        if fine and self.timing:
            note(f"{time.perf_counter() - began:.3f} s")
        return fine

    def _guarded(self, work: Callable[[], None]) -> bool:
        try:
            work()
            sys.stdout.flush()
        except KeyboardInterrupt as error:
            self._interrupted(error)
        except PenstockError as error:
            report(error)
        except EOFError:
            raise
        except BrokenPipeError as error:
            if not self.output.give_up(error):
                raise
        except OSError as error:
            note(f"error[CANNOT_ACCESS]: {error.strerror or error}: {error.filename or ''}".rstrip(": "))
        except Exception as error:  # noqa: BLE001 - the shell outlives our bugs
            behind = interrupt_behind(error)
            if behind is None:
                report_bug(error)
            else:
                self._interrupted(behind)
        else:
            return True
        return False

    def _interrupted(self, error: KeyboardInterrupt) -> None:
        kept = isinstance(error, InterruptedAfterStep)
        note(f"stopped; the statement {'had been carried out' if kept else 'has changed nothing'}")
        if self.following is not None:
            self.following.interrupted()

    def run_sql(self, text: str) -> None:
        """Run each statement of a text; the first that is refused ends it."""
        self.target.run_text(text)


def stream_reader(stream: TextIO) -> Callable[[str], str]:
    """A reader of a file or pipe: lines until a statement is complete; what the end of the file leaves is one too."""

    def read(_: str) -> str:
        text = ""
        for line in stream:
            text += line
            if text.strip() and is_complete(text):
                return text
        if not text.strip():
            raise EOFError
        return text

    return read
