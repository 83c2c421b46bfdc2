"""`penstock sql`: an interactive shell; without a terminal, or with -e, it runs what it is given and ends."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from penstock.cli.options import engine_of, engine_options, format_option, option, program_options
from penstock.cli.programs import program_text, read_text
from penstock.cli.reporting import FINE, WRONG, note

if TYPE_CHECKING:
    from penstock.catalog.model import Catalog
    from penstock.cli.interpreter import Changes, Interpreter, Results
    from penstock.cli.repl.shell import Shell, Target


@click.command("sql")
@click.argument("program", nargs=-1, type=click.Path(exists=True, dir_okay=False))
@program_options
@engine_options
@option(
    "--attach",
    type=click.Path(file_okay=False),
    metavar="DIRECTORY",
    help="Ask the pipeline that a `penstock run --dir DIRECTORY` has at work, and change nothing in it.",
)
@format_option("text", "json", "csv")
def command(program: Sequence[str], execute: Sequence[str], attach: str | None, **values: Any) -> int:
    """Open a shell on a new pipeline, after running the PROGRAM if there is one; or on one that runs, with --attach.

    A statement ends with a semicolon; `.help` shows the commands; Ctrl-C stops a statement, Ctrl-D leaves. `.step`
    takes what the program's sources have now, `.run` follows them.
    """
    from penstock.cli.interpreter import Results, open_interpreter
    from penstock.cli.repl.following import told

    if attach is not None:
        return _attached(attach, execute, program, values)
    source = program_text(program, values["files"], (), needed=False)
    results = Results(values["style"], on_event=told)
    results.on_changes = _changes_shown(results)
    interpreter, statements = open_interpreter(
        source, values["dialect"], engine_of(values), results, retain="all", writes=True
    )
    with interpreter.pipeline:
        shell, interactive = _shell(interpreter, execute)
        if not (interactive and _waits(interpreter, statements, values)):
            interpreter.run_program(statements, source)
        if interactive:
            _welcome(interpreter.catalog)
        return _looped(shell, interactive=interactive)


def _waits(interpreter: Interpreter, statements: Sequence[object], values: Mapping[str, Any]) -> bool:
    """True if the program can be set to work with the first thing that is typed, while Spark is being started."""
    return not statements and values["directory"] is None and interpreter.pipeline.expects_spark


def _attached(directory: str, execute: Sequence[str], program: Sequence[str], values: Mapping[str, Any]) -> int:
    """A shell on the pipeline that another process has at work; no JVM is started."""
    from penstock.cli.attach.client import Attached
    from penstock.cli.interpreter import Results

    if program or values["files"] or values["directory"]:
        message = "--attach asks a pipeline that has its program and directory: leave PROGRAM, -f and --dir out."
        raise click.UsageError(message)
    target = Attached(Path(directory), Results(values["style"]))
    shell, interactive = _shell(target, execute)
    if interactive:
        note(f"Attached to {directory}, to read. Statements end with a semicolon; .help shows the commands.")
    return _looped(shell, interactive=interactive)


def _changes_shown(results: Results) -> Callable[[Changes], None]:
    """Write changes in the format of answers to what is stdout then."""
    from penstock.cli.changes import change_output

    return lambda changes: change_output("json" if results.style == "json" else "text", (), None).write(changes)


def _shell(target: Target, execute: Sequence[str]) -> tuple[Shell, bool]:
    """The shell over a target, and True if a person types."""
    from penstock.cli.repl.shell import Shell, stream_reader

    interactive = not execute and sys.stdin.isatty()
    if interactive:
        return Shell(target, _terminal(lambda: target.catalog)), True
    given = io.StringIO("\n".join(execute) if execute else read_text("-"))
    return Shell(target, stream_reader(given)), False


def _looped(shell: Shell, *, interactive: bool) -> int:
    if interactive:
        shell.loop()
        return FINE
    return FINE if shell.loop(until_failure=True) else WRONG


def _welcome(catalog: Catalog) -> None:
    from penstock.catalog.properties import CONNECTOR

    note("Penstock. Statements end with a semicolon; .help shows the commands, Ctrl-D leaves.")
    fed = ", ".join(table.name for table in catalog.tables.values() if CONNECTOR in table.properties)
    if fed:
        note(f".step takes what there is for {fed}; .run follows.")


def _terminal(catalog: Callable[[], Catalog]) -> Callable[[str], str]:
    from penstock.cli.repl.prompt import terminal_reader

    return terminal_reader(catalog)
