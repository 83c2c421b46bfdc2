"""`penstock query`: one question to a program."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from penstock.cli.options import engine_of, engine_options, format_option, option, program_options
from penstock.cli.programs import program_text
from penstock.cli.reporting import note


@click.command("query")
@click.argument("arguments", nargs=-1, required=True, metavar="[PROGRAM]... SQL")
@program_options
@engine_options
@option("--as-of", help="Over the contents as they were: after the step of a number, or at a time (UTC).")
@option("--follow", is_flag=True, help="Follow the sources, and write what a query with EMIT shows, until Ctrl-C.")
@option("--once", is_flag=True, help="With --follow, end when the input is used up.")
@format_option()
def command(arguments: Sequence[str], **values: Any) -> None:
    """Run the PROGRAM, take in what its sources hold now, and answer the query SQL.

    With --follow the query stands from before the first row: what its EMIT shows is written as it comes, one line for
    each row with its step, until Ctrl-C, or as many rows as its LIMIT says.

    With --as-of it is answered over the contents as they were after an earlier step.
    """
    from penstock.cli.interpreter import Results, check_finished, follow, open_interpreter, write_answer
    from penstock.errors import PenstockError
    from penstock.pipeline.supported import has_sources

    *programs, question = arguments
    source = program_text(_existing(programs), values["files"], values["execute"], needed=False)
    interpreter, statements = open_interpreter(source, values["dialect"], engine_of(values), Results(values["style"]))
    with interpreter.pipeline as pipeline:
        asking = [item for item in statements if type(item).__name__ in ("Query", "Explain", "Show", "Describe")]
        for statement in asking:
            note(f"skipped: {statement.text.split(chr(10), 1)[0][:60]}")
        interpreter.run_program([item for item in statements if item not in asking], source)
        check_finished(pipeline)
        if values["follow"]:
            follow(pipeline, pipeline.subscribe(question), values["style"], once=values["once"])
            return
        if has_sources(pipeline.catalog):
            pipeline.run(once=True)
        try:
            write_answer(pipeline, question, interpreter.results, as_of=_point(values["as_of"]))
        except PenstockError as error:
            raise error.with_source(question) from error.__cause__


def _point(text: str | None) -> int | str | None:
    return int(text) if text is not None and text.isdigit() else text


def _existing(programs: Sequence[str]) -> Sequence[str]:
    kind = click.Path(exists=True, dir_okay=False, allow_dash=True)
    return [str(kind.convert(name, None, click.get_current_context())) for name in programs]
