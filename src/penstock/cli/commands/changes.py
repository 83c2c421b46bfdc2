"""`penstock changes`: the changes of one view, live."""

from __future__ import annotations

from typing import Any

import click

from penstock.cli.commands.run import command as run
from penstock.cli.options import engine_options, format_option, option, program_options


@click.command("changes")
@click.argument("program", type=click.Path(exists=True, dir_okay=False, allow_dash=True))
@click.argument("view")
@program_options
@engine_options
@option("--once", is_flag=True, help="End when the input is used up.")
@option("--quiet", is_flag=True, help="No progress on stderr.")
@option(
    "--form",
    type=click.Choice(["changelog", "retract", "upsert"]),
    help="Say what is done with each row: +I -U +U -D, insert and delete, or upsert and delete by the view's key.",
)
@format_option()
@click.pass_context
def command(context: click.Context, /, program: str, view: str, **values: Any) -> None:
    """Run a PROGRAM and write the changes of its VIEW as they happen."""
    context.invoke(run, program=(program,), views=(view,), output=None, overwrite=False, final=False, **values)
