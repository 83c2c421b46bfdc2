"""`penstock sql`: an interactive shell; without a terminal, or with -e, it runs what it is given and ends."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import click

from penstock.cli.options import engine_of, engine_options, format_option, program_options
from penstock.cli.programs import program_text, read_text
from penstock.cli.reporting import FINE, WRONG, note

if TYPE_CHECKING:
    from penstock.catalog.model import Catalog


@click.command("sql")
@click.argument("program", nargs=-1, type=click.Path(exists=True, dir_okay=False))
@program_options
@engine_options
@format_option("text", "json", "csv")
def command(program: Sequence[str], execute: Sequence[str], **values: Any) -> int:
    """Open a shell on a new pipeline, after running the PROGRAM if there is one.

    A statement ends with a semicolon; `.help` shows the commands; Ctrl-C stops a statement, Ctrl-D leaves.
    """
    from penstock.cli.changes import change_output
    from penstock.cli.interpreter import Results, open_interpreter
    from penstock.cli.repl.shell import Shell, stream_reader

    source = program_text(program, values["files"], (), needed=False)
    style = values["style"]
    output = change_output("json" if style == "json" else "text", (), None)
    results = Results(style, output.write)
    interpreter, statements = open_interpreter(source, values["dialect"], engine_of(values), results, retain="all")
    with interpreter.pipeline as pipeline:
        interactive = not execute and sys.stdin.isatty()
        given = io.StringIO("\n".join(execute) if execute else "" if interactive else read_text("-"))
        shell = Shell(interpreter, _terminal(lambda: pipeline.catalog) if interactive else stream_reader(given))
        for statement in statements:
            interpreter.run(statement, source)
        if not interactive:
            return FINE if shell.loop(until_failure=True) else WRONG
        note("Penstock. Statements end with a semicolon; .help shows the commands, Ctrl-D leaves.")
        shell.loop()
    return FINE


def _terminal(catalog: Callable[[], Catalog]) -> Callable[[str], str]:
    from penstock.cli.repl.prompt import terminal_reader

    return terminal_reader(catalog)
