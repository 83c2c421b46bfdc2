"""`penstock verify`: whether every maintained view equals its query, run in batch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from penstock.cli.options import engine_of, engine_options, format_option, option, program_options
from penstock.cli.programs import program_text
from penstock.cli.reporting import FINE, WRONG
from penstock.cli.views import chosen_views
from penstock.sql import statements as sql

if TYPE_CHECKING:
    from penstock.pipeline.verification import Verification


@click.command("verify")
@click.argument("program", nargs=-1, type=click.Path(exists=True, dir_okay=False, allow_dash=True))
@program_options
@engine_options
@option("--view", "views", multiple=True, help="Verify this view only; may be repeated. [default: all]")
@option("--quiet", is_flag=True, help="No progress on stderr.")
@format_option("text", "json")
def command(**values: Any) -> int:
    """Run a PROGRAM until its input is used up, then compare its views with their queries, run in batch."""
    from penstock.cli.interpreter import Results, check_finished, open_interpreter
    from penstock.cli.progress import Progress
    from penstock.steps.rows.rejected import json_text

    source = program_text(values["program"], values["files"], values["execute"])
    results = Results("text", on_event=Progress(quiet=values["quiet"]))
    interpreter, statements = open_interpreter(
        source, values["dialect"], engine_of(values), results, retain="all", spark=True
    )
    with interpreter.pipeline as pipeline:
        views = chosen_views(pipeline.catalog, values["views"])
        asking = sql.Query | sql.Explain | sql.Show | sql.Describe
        interpreter.run_program([item for item in statements if not isinstance(item, asking)], source)
        check_finished(pipeline)
        pipeline.run(once=True)
        found = [pipeline.verify(view) for view in views]
    for item in found:
        click.echo(json_text(_json(item)) if values["style"] == "json" else _text(item))
    return FINE if all(item.ok for item in found) else WRONG


def _json(found: Verification) -> dict[str, Any]:
    counts = {"view": found.view, "ok": found.ok, "rows": found.rows}
    return counts | {"missing": found.missing, "unexpected": found.unexpected, "examples": list(found.examples)}


def _text(found: Verification) -> str:
    if found.ok:
        return f"{found.view}: {found.rows:,} rows equal the batch result"
    lines = [f"{found.view}: DIFFERS, {found.missing:,} rows missing, {found.unexpected:,} unexpected"]
    return "\n".join([*lines, *(f"  {weight:+d} {row}" for weight, row in found.examples)])
