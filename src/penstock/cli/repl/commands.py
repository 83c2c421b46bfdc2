"""Dot commands of the shell: about the shell itself, or short for a statement."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import click

from penstock.cli.programs import read_text
from penstock.errors import Diagnostic, SqlError, did_you_mean
from penstock.outputs.textual import LAYOUTS
from penstock.plan.scalar import quoted
from penstock.source_text import SourceText

if TYPE_CHECKING:
    from penstock.catalog.model import Catalog
    from penstock.cli.repl.following import Following
    from penstock.cli.repl.output import OutputFile
    from penstock.cli.repl.shell import Target
    from penstock.pipeline.pipeline import Pipeline


class Controls(Protocol):
    """The part of the shell that the commands see."""

    target: Target
    timing: bool
    show_changes: bool
    output: OutputFile
    following: Following | None

    @property
    def pipeline(self) -> Pipeline:
        """The shell's own pipeline; SqlError if there is none."""
        ...

    @property
    def catalog(self) -> Catalog:
        """The catalog of all that is declared now."""
        ...

    def run_sql(self, text: str) -> None:
        """Run each statement of a text."""
        ...


@dataclass(frozen=True)
class DotCommand:
    """One command: its argument, what it does, and the doing."""

    argument: str
    about: str
    run: Callable[[Controls, str], None]


def _help(_: Controls, __: str) -> None:
    width = max(len(f"{name} {command.argument}") for name, command in COMMANDS.items())
    for name, command in COMMANDS.items():
        click.echo(f"{f'{name} {command.argument}':<{width}}  {command.about}")
    click.echo(f"{'statement;':<{width}}  SQL runs at the semicolon; Ctrl-C stops a statement, Ctrl-D leaves")


def _schema(shell: Controls, name: str) -> None:
    shell.run_sql(f"SHOW COLUMNS FROM {quoted(name.strip('`'))};" if name else "SHOW COLUMNS;")


def _explain(shell: Controls, name: str) -> None:
    views = [name.strip("`")] if name else [view.name for view in shell.catalog.named_views()]
    for at, view in enumerate(views):
        if at:
            click.echo()
        shell.run_sql(f"EXPLAIN {quoted(view)};")


def _verify(shell: Controls, name: str) -> None:
    for view in [name] if name else [view.name for view in shell.catalog.named_views()]:
        found = shell.pipeline.verify(view)
        verdict = "equal the batch result" if found.ok else f"DIFFER: {found.missing} missing, {found.unexpected} more"
        click.echo(f"{found.view}: {found.rows} rows {verdict}")


def _format(shell: Controls, style: str) -> None:
    if style not in ("text", "json", "csv"):
        raise SqlError(Diagnostic("UNKNOWN_FORMAT", f"{style[:40]!r} is no format", hint="text, json or csv"))
    shell.target.results.style = style


def _mode(shell: Controls, layout: str) -> None:
    if layout not in LAYOUTS:
        raise SqlError(Diagnostic("UNKNOWN_FORMAT", f"{layout[:40]!r} is no layout", hint=", ".join(LAYOUTS)))
    shell.target.results.layout = layout


def _follow(shell: Controls) -> Following:
    """The follower of the shell's own pipeline; SqlError if there is none."""
    assert shell.pipeline  # noqa: S101 - raises where there is none
    assert shell.following is not None  # noqa: S101 - there is one beside each pipeline
    return shell.following


def _changes(shell: Controls, word: str) -> None:
    shell.show_changes = _switch(word)


def _timing(shell: Controls, word: str) -> None:
    shell.timing = _switch(word)


def _switch(word: str) -> bool:
    if word not in ("on", "off"):
        raise SqlError(Diagnostic("UNKNOWN_COMMAND", f"{word[:40]!r} is neither on nor off", hint="on or off"))
    return word == "on"


def _read(shell: Controls, path: str) -> None:
    shell.run_sql(SourceText.joined([(read_text(path), path)]))


def _quit(_: Controls, __: str) -> None:
    raise EOFError


COMMANDS: Mapping[str, DotCommand] = {
    ".help": DotCommand("", "what there is", _help),
    ".tables": DotCommand("", "the tables", lambda shell, _: shell.run_sql("SHOW TABLES;")),
    ".views": DotCommand("", "the views", lambda shell, _: shell.run_sql("SHOW VIEWS;")),
    ".schema": DotCommand("[NAME]", "the columns of a table or view, or of all", _schema),
    ".explain": DotCommand("[VIEW]", "how a view is maintained, or all", _explain),
    ".verify": DotCommand("[VIEW]", "compare a view with batch, or all", _verify),
    ".state": DotCommand("", "what the operators remember", lambda shell, _: shell.run_sql("SHOW STATE;")),
    ".step": DotCommand("", "one step with what the sources have now", lambda shell, _: _follow(shell).step()),
    ".run": DotCommand(
        "[once|&]",
        "follow the sources until Ctrl-C, once: until their input is used up, &: in the background",
        lambda shell, way: _follow(shell).run(way),
    ),
    ".stop": DotCommand("", "end what .run & has begun", lambda shell, _: _follow(shell).stop()),
    ".read": DotCommand("FILE", "run the statements of a file", _read),
    ".format": DotCommand("text|json|csv", "how answers are written", _format),
    ".mode": DotCommand("auto|table|expanded", "how rows of text are laid out; auto: by the terminal's width", _mode),
    ".output": DotCommand(
        "[FILE]", "write results into a file; alone: no longer", lambda shell, to: shell.output.to(to)
    ),
    ".changes": DotCommand("on|off", "show what a statement changes in the views", _changes),
    ".timing": DotCommand("on|off", "show how long a statement takes", _timing),
    ".quit": DotCommand("", "leave", _quit),
}


def run_command(shell: Controls, line: str) -> None:
    """Run a line that begins with a dot; SqlError for what is no command."""
    name, _, argument = line.strip().rstrip(";").partition(" ")
    command = COMMANDS.get(name.lower())
    if command is None:
        near = did_you_mean(name, list(COMMANDS))
        message = f"there is no command {name[:40]}"
        raise SqlError(Diagnostic("UNKNOWN_COMMAND", message, candidates=near, hint=".help shows all commands"))
    command.run(shell, argument.strip())
