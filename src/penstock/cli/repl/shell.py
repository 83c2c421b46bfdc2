"""The loop of `penstock sql`: read a statement, run it, show its result; nothing that goes wrong ends the loop."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, TextIO

from penstock.catalog.model import Catalog
from penstock.cli.repl.commands import run_command
from penstock.cli.repl.statement import is_complete
from penstock.cli.reporting import note, report, report_bug
from penstock.errors import PenstockError
from penstock.sql.parse import parse
from penstock.steps.interrupts import InterruptedAfterStep, interrupt_behind

if TYPE_CHECKING:
    from penstock.cli.interpreter import Interpreter
    from penstock.steps.change import Change

PROMPT, IN_TRANSACTION = "penstock> ", "penstock*> "


class Shell:
    """One interactive session. `read` gives the next input for a prompt; KeyboardInterrupt drops it, EOFError ends."""

    def __init__(self, interpreter: Interpreter, read: Callable[[str], str]) -> None:
        self.interpreter = interpreter
        self.timing = False
        self.show_changes = True
        self._read = read
        self._write = interpreter.results.on_changes
        interpreter.results.on_changes = self._changed

    @property
    def catalog(self) -> Catalog:
        """The catalog of all that is declared now."""
        return self.interpreter.pipeline.catalog

    def _changed(self, changes: Mapping[str, Change]) -> None:
        if self.show_changes:
            self._write(changes)

    def loop(self, *, until_failure: bool = False) -> bool:
        """Until Ctrl-D or .quit, or with `until_failure` the first refusal; gives whether the last input went well."""
        while True:
            try:
                text = self._read(IN_TRANSACTION if self.interpreter.pipeline.in_transaction else PROMPT)
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
        """Run what was typed; whatever goes wrong becomes a message. Gives whether all went well."""
        began = time.perf_counter()
        try:
            if text.lstrip().startswith("."):
                run_command(self, text)
            else:
                self.run_sql(text)
        except InterruptedAfterStep:
            note("stopped; the statement had been carried out")
            return False
        except KeyboardInterrupt:
            note("stopped; the statement has changed nothing")
            return False
        except PenstockError as error:
            report(error)
            return False
        except EOFError:
            raise
        except OSError as error:
            note(f"error[CANNOT_ACCESS]: {error.strerror or error}: {error.filename or ''}".rstrip(": "))
            return False
        except Exception as error:  # noqa: BLE001 - the shell outlives our bugs
            if interrupt_behind(error) is not None:
                note("stopped; the statement has changed nothing")
            else:
                report_bug(error)
            return False
        if self.timing:
            note(f"{time.perf_counter() - began:.3f} s")
        return True

    def run_sql(self, text: str) -> None:
        """Run each statement of a text; the first that is refused ends it."""
        for statement in parse(text, self.interpreter.pipeline.dialect):
            self.interpreter.run(statement, text)


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
