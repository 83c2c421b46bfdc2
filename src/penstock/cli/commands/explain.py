"""`penstock explain`: how each view is maintained. Starts no JVM."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from penstock.catalog.settings import ENGINE, NATIVE, engine_of
from penstock.cli.options import engine_option, format_option, option, program_options
from penstock.cli.programs import program_text, uncollected
from penstock.cli.reporting import warn
from penstock.errors import Diagnostic, PenstockError, SqlError, UnsupportedError, did_you_mean

if TYPE_CHECKING:
    from penstock.catalog.model import Catalog

STAGES = ("verdict", "plan", "circuit", "trace", "changelog", "stream")


@click.command("explain")
@click.argument("program", nargs=-1, type=click.Path(exists=True, dir_okay=False, allow_dash=True))
@program_options
@option("--view", default=None, help="Explain this view only.")
@option("--stage", "stages", multiple=True, type=click.Choice(STAGES), help="Show this stage only; may be repeated.")
@engine_option
@option("--analyze", is_flag=True, hidden=True, help="What `penstock run --profile` does.")
@format_option("text", "json")
@uncollected()
def command(
    program: Sequence[str],
    files: Sequence[str],
    execute: Sequence[str],
    view: str | None,
    **values: Any,
) -> None:
    """Explain the views of a PROGRAM: incremental or recomputed and why, what kind of changes, key, place, state.

    The place is with Spark on this machine; the stage `circuit` says it of each operator. What the engine 'native'
    refuses is said behind it.
    """
    from penstock.bind.program.compile import compile_program
    from penstock.engine.foreseeing import foreseen
    from penstock.explain import explain, explain_json

    source = program_text(program, files, execute)
    stages, style = tuple(values["stages"]), values["style"]
    catalog = compile_program(source, values["dialect"]).catalog
    if values["engine"] is not None:
        catalog = catalog.with_setting(ENGINE, values["engine"])
    if view is not None and view.lower() not in catalog.views:
        known = [item.name for item in catalog.named_views()]
        raise SqlError(
            Diagnostic("UNKNOWN_VIEW", f"there is no view {view[:100]}", candidates=did_you_mean(view, known))
        )
    try:
        if values["analyze"]:
            explain(catalog, view, ("analyze",), source)  # refuses: nothing runs here
        refused = _refused(catalog)
        if style == "json":
            said = [item.to_json(source) for item in refused]
            found = explain_json(catalog, view, source, foreseen) | ({"refused": said} if said else {})
            click.echo(json.dumps(found, ensure_ascii=False))
        else:
            click.echo(explain(catalog, view, stages, source, placing=foreseen))
            warn(refused, source)
    except PenstockError as error:
        raise error.with_source(source) from error.__cause__


def _refused(catalog: Catalog) -> tuple[Diagnostic, ...]:
    """The reasons for which the program would not start, with the engine that it asks for."""
    if engine_of(catalog.settings) != NATIVE:
        return ()
    from penstock.pipeline.native_only import check_native_program

    try:
        check_native_program(catalog)
    except UnsupportedError as error:
        return error.diagnostics
    return ()
