"""The shell's side: each text is asked on a connection of its own, and what comes back is shown."""

from __future__ import annotations

import os
import re
import socket
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import click

from penstock.catalog.model import Catalog, Column, Table, View
from penstock.cli.attach.wire import LONGEST_QUESTION, address, line, lines
from penstock.cli.interpreter import Results
from penstock.cli.reporting import note
from penstock.errors import DataError, Diagnostic, PenstockError, Span
from penstock.outputs.textual import width_for

_TELL_SECONDS = 1.0


class AnsweredError(PenstockError):
    """An error as the other process has rendered it."""

    def __init__(self, reply: Mapping[str, Any], given: str | None = None) -> None:
        """An error about the text that was `given` has its places there, in the files of that text."""
        own = bool(reply.get("given"))
        super().__init__([_diagnostic(item, own=own) for item in reply["diagnostics"]], given if own else None)
        self._text = None if own else str(reply["error"])

    def render(self) -> str:
        return super().render() if self._text is None else self._text


def _diagnostic(item: Mapping[str, Any], *, own: bool) -> Diagnostic:
    span = item.get("span") if own else None
    return Diagnostic(
        item["code"],
        item["message"],
        None if span is None else Span(span["start"], span["end"]),
        tuple(item.get("candidates", ())),
        item.get("hint"),
        item.get("sqlstate"),
        item.get("severity", "error"),
        item.get("row"),
    )


class Attached:
    """A pipeline that another process runs in the directory; DataError if none does."""

    in_transaction = False

    def __init__(self, directory: Path, results: Results) -> None:
        self.results = results
        self._directory = directory
        (reply,) = self._asked({"catalog": True})
        self._catalog = _catalog(reply["relations"])

    @property
    def catalog(self) -> Catalog:
        """The names that were declared when the shell began."""
        return self._catalog

    def run_text(self, text: str) -> None:
        """Have the statements of a text answered; the first that is refused ends it."""
        width = width_for(sys.stdout, self.results.layout)
        layout = "table" if width is None else width
        for reply in self._asked({"sql": text, "format": self.results.style, "layout": layout}):
            click.echo(reply["out"], nl=False)

    def deployment(self, program: str) -> dict[str, Any]:
        """The difference between the program that runs and another, as values."""
        (reply,) = self._asked({"deploy": program})
        found: dict[str, Any] = reply["deployment"]
        return found

    def deploy(self, program: str) -> dict[str, Any]:
        """Have another program take its place: the step that did it, and the changed rows of each view.

        How far its new views are is said on stderr, about once a second. Ctrl-C gives the change up, if its step has
        not begun.
        """
        told = float("-inf")
        for reply in self._asked({"deploy": program, "go": True}):
            if "deploying" not in reply:
                return reply
            if time.monotonic() - told >= _TELL_SECONDS:
                told = time.monotonic()
                note(reply["deploying"])
        raise self._ended()

    def _asked(self, question: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        text = line(question)
        if len(text) > LONGEST_QUESTION:
            raise DataError(Diagnostic("TOO_LONG", f"the text has {len(text):,} bytes, more than can be asked at once"))
        with closing(self._connected()) as connection:
            try:
                connection.sendall(text)
                for reply in lines(connection):
                    if "error" in reply:
                        raise AnsweredError(reply, question.get("sql", question.get("deploy")))
                    if "end" in reply:
                        return
                    yield reply
            except (ConnectionError, ValueError):
                raise self._ended() from None
        raise self._ended()

    def _connected(self) -> socket.socket:
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            with address(self._directory) as name:
                connection.connect(name)
        except (FileNotFoundError, NotADirectoryError, ConnectionRefusedError):
            connection.close()
            raise self._nobody() from None
        except BaseException:
            connection.close()
            raise
        return connection

    def _ended(self) -> DataError:
        message = f"the process that ran the pipeline in {self._directory} has ended before it had answered"
        return DataError(Diagnostic("NOT_RUNNING", message, hint=self._hint()))

    def _nobody(self) -> DataError:
        owner = _owner(self._directory)
        if owner is None:
            return DataError(
                Diagnostic("NOT_RUNNING", f"nobody runs a pipeline in {self._directory}", hint=self._hint())
            )
        message = f"process {owner} has {self._directory}, and answers nobody (yet)"
        hint = "it may still be starting; penstock run --dir answers, penstock sql --dir does not"
        return DataError(Diagnostic("NOT_RUNNING", message, hint=hint))

    def _hint(self) -> str:
        return (
            f"penstock run --dir {self._directory} with the program runs one; penstock sql --dir opens what it has left"
        )


def _owner(directory: Path) -> int | None:
    """The process that is named in the directory's lock, if it is there."""
    with suppress(OSError, ValueError):
        found = re.match(r"process (\d+) on (.*)", (directory / "lock").read_text(encoding="utf-8"))
        if found is not None and found[2] == os.uname().nodename:
            os.kill(int(found[1]), 0)
            return int(found[1])
    return None


def _catalog(relations: list[dict[str, Any]]) -> Catalog:
    """The names as a catalog, for completion."""
    catalog = Catalog()
    for item in relations:
        columns = tuple(Column(name, kind) for name, kind in item["columns"])
        if item["kind"] == "table":
            catalog = catalog.with_table(Table(item["name"], columns))
        else:
            catalog = catalog.with_view(View(item["name"], "", None, columns, None, item["kind"]))
    return catalog
