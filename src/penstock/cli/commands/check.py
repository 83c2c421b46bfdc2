"""`penstock check`: is the program right? Starts no JVM."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from penstock.catalog.model import NOTHING, Catalog
from penstock.catalog.settings import ENGINE
from penstock.cli.annotations import Finding, as_sarif, as_workflow_commands, findings
from penstock.cli.options import engine_option, format_option, option, program_options
from penstock.cli.programs import program_text, uncollected
from penstock.cli.reporting import WRONG, note, warn
from penstock.errors import PenstockError, SqlError

if TYPE_CHECKING:
    from penstock.bind.program.compile import Program


@click.command("check")
@click.argument("program", nargs=-1, type=click.Path(exists=True, dir_okay=False, allow_dash=True))
@program_options
@engine_option
@option("--spark", "ask", is_flag=True, help="Start Spark and ask it for what only it can know.")
@format_option("text", "json", "sarif", "github")
@uncollected()
def command(
    program: Sequence[str], files: Sequence[str], execute: Sequence[str], engine: str | None, **values: Any
) -> int:
    """Check a PROGRAM without running it: names, types, cycles, everything that can be known without Spark.

    Functions of which only Spark knows what they take are named. With the engine 'native' a program is refused for what
    needs Spark. Packages that a connector or a format needs have to be installed.

    --format sarif writes a SARIF log, and --format github workflow commands of GitHub Actions, by which a pull request
    shows what is wrong beside its lines.
    """
    from penstock.bind.program.compile import compile_program
    from penstock.explain.unjudged import unjudged
    from penstock.outputs.connectors import outlets_of
    from penstock.pipeline.native_only import check_native_program
    from penstock.pipeline.supported import check_supported

    style, ask = values["style"], values["ask"]
    source: str | None = None
    try:
        source = program_text(program, files, execute)
        checked = compile_program(source, values["dialect"])
        catalog = checked.catalog if engine is None else checked.catalog.with_setting(ENGINE, engine)
        check_supported(catalog)
        check_native_program(catalog)
        _check_streams(checked)
        if ask:
            _ask_spark(catalog)
    except PenstockError as error:
        if source is not None:
            error.with_source(source)
        if style == "text":
            raise
        _write(style, findings(error.diagnostics, error.source), {"ok": False})
        return WRONG
    unchecked = [view.name for view in catalog.named_views() if view.query is None and not ask]
    if style == "text":
        warn(catalog.warnings, source)
    for name in unchecked:
        note(f"view {name}: not checked without Spark")
    weak = [outlet.describe() for outlet in outlets_of(catalog) if not outlet.is_exact]
    for described in weak:
        note(f"output {described}")
    functions = {} if ask else unjudged(catalog)
    for name, called in functions.items():
        note(f"view {name}: what {' and '.join(called)} takes is not checked without Spark")
    counts = {
        "tables": len(catalog.tables),
        "views": len(list(catalog.named_views())),
        "functions": len(catalog.functions),
    }
    if style == "text":
        counted = (f"{count} {what if count != 1 else what[:-1]}" for what, count in counts.items())
        click.echo(f"no mistakes: {', '.join(counted)}")
        return 0
    known = {"unchecked": unchecked, "unchecked_functions": functions, "at_least_once": weak}
    _write(style, findings(catalog.warnings, source), {"ok": True}, known | counts)
    return 0


def _write(style: str, found: Sequence[Finding], first: Mapping[str, Any], more: Mapping[str, Any] = NOTHING) -> None:
    """Write diagnostics for a machine; as JSON with facts before and behind them."""
    match style:
        case "sarif":
            click.echo(as_sarif(found))
        case "github":
            for command in as_workflow_commands(found):
                click.echo(command)
        case _:
            said = [item.diagnostic.to_json(item.source) for item in found]
            click.echo(json.dumps({**first, "diagnostics": said, **more}, ensure_ascii=False))


def _check_streams(program: Program) -> None:
    """Raise for a SELECT STREAM of the program whose rows never become final."""
    from penstock.analysis.waterline import has_waterline
    from penstock.bind.emission.standing import bind_standing
    from penstock.bind.modality import streamed
    from penstock.circuit.streaming import check_meetings
    from penstock.circuit.streaming import streamed as final_rows
    from penstock.sql.statements import Query

    for statement in program.statements:
        if isinstance(statement, Query) and streamed(statement.tree):
            found = bind_standing(statement.tree, program.catalog, program.source, "query", has_waterline)
            catalog = program.catalog
            for view in found.views:
                catalog = catalog.with_view(view)
            check_meetings(found.view, catalog)
            if found.view.showing is not None and found.view.showing.streamed:
                final_rows(found.view, catalog)


def _ask_spark(catalog: Catalog) -> None:
    """Raise one error with everything that Spark refuses."""
    from penstock.pipeline.asked import spark_refuses

    errors = spark_refuses(catalog)
    if errors:
        raise SqlError([item for error in errors for item in error.diagnostics])
