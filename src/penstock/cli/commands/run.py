"""`penstock run`: run a program, follow its sources, write what its views change."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from penstock.cli.options import engine_of, engine_options, format_option, option, program_options
from penstock.cli.programs import program_text
from penstock.cli.reporting import WRONG
from penstock.cli.views import chosen_views, refuse_several

if TYPE_CHECKING:
    from penstock.cli.interpreter import Changes, Interpreter
    from penstock.cli.watch import Watch
    from penstock.sources.api import Output


@click.command("run")
@click.argument("program", nargs=-1, type=click.Path(exists=True, dir_okay=False, allow_dash=True))
@program_options
@engine_options
@option("--view", "views", multiple=True, help="Write this view only; may be repeated. [default: all]")
@option("--output", type=click.Path(file_okay=False), default=None, help="Write files of changes into this folder.")
@option("--overwrite", is_flag=True, help="Remove what an earlier run has written into the --output folder.")
@option("--final", is_flag=True, help="Write the content of the views at the end, not their changes.")
@option("--once", is_flag=True, help="End when the input is used up.")
@option("--yes", is_flag=True, help="Have the PROGRAM take the place of another that --dir has, without asking.")
@option("--rebuild", is_flag=True, help="Make everything again from the log in --dir, whatever state is there.")
@option("--quiet", is_flag=True, help="No progress on stderr; rejected rows are told all the same.")
@option("--profile", is_flag=True, help="At the end, show on stderr what each operator has cost; slows the run.")
@option(
    "--profile-json",
    type=click.Path(dir_okay=False),
    help="Write what each operator costs, step by step, as JSON lines.",
)
@option("--metrics-port", type=click.IntRange(0, 65535), help="Serve /metrics, /health and /ready here; 0: any port.")
@option("--metrics-host", default="127.0.0.1", show_default=True, help="The address to serve them at.")
@option(
    "--log-format",
    type=click.Choice(("text", "json")),
    default="text",
    show_default=True,
    help="How stderr tells of the run: 'json' has a line for each step.",
)
@option("--tracing", metavar="EXPORTER", help="Give spans of steps to this exporter of OpenTelemetry: otlp, console.")
@format_option()
def command(**values: Any) -> None:
    """Run a PROGRAM and keep its views up to date until Ctrl-C, or with --once until the input is used up.

    Writes the changes of the views, with the step and the weight of each row: +1 for a row that came, -1 for one that
    went; where views or tables of the program have a connector as outputs, only those of --view. In JSON what has no
    word there is text: times, DECIMAL, NaN, Infinity. Ctrl-C stops at once: a step that has
    not been kept leaves no trace, and one that has is written. SIGTERM and SIGHUP do the same.

    Started again with the same --dir it goes on where it was, however it ended: tables, views, waterlines, timers, the
    queries that stand and the positions in the sources are as they were, and --output gets the steps that it lacks.
    Where the PROGRAM has changed since, the difference is shown, and made if it is wanted (--yes), as by `penstock
    deploy`. Without --dir it begins anew. An --output folder that another run has written into is refused
    (OUTPUT_IN_USE).

    Files of --output are in a folder for each view: <view>/step-000000000042.parquet. In the folder's name a character
    that could lead elsewhere is % and its bytes, as in addresses. --overwrite removes what another run has written.
    """
    from penstock.cli.watch import watching
    from penstock.steps.interrupts import noted

    source = program_text(values["program"], values["files"], values["execute"])
    with noted(), watching(values["log_format"], values["tracing"], quiet=values["quiet"]) as watch:
        _run(source, values, watch)


def _run(source: str, values: dict[str, Any], watch: Watch) -> None:
    from penstock.cli.interpreter import Results, check_finished, open_interpreter
    from penstock.cli.profile import Measurements
    from penstock.cli.rejected import RejectionReport
    from penstock.outputs.connectors import outlets_of
    from penstock.outputs.ownership import claim
    from penstock.pipeline.supported import check_content, check_followed

    _changed(source, values)
    measured = Measurements(values["profile_json"], watch.tell, table=values["profile"])
    outputs: list[Output] = [RejectionReport(watch.say)]

    def written(changes: Changes) -> None:
        interpreter.pipeline.give(outputs, changes)

    results = Results(values["style"], written, measured)
    interpreter, statements = open_interpreter(
        source,
        values["dialect"],
        engine_of(values),
        results,
        profile=measured.wanted,
        writes=True,
        rebuild=values["rebuild"],
        spark=values["final"] and values["output"] is not None,
    )
    with interpreter.pipeline, measured.shown_of(interpreter.pipeline):
        watch.begin(interpreter.pipeline, values["metrics_port"], values["metrics_host"])
        views = chosen_views(interpreter.pipeline.catalog, values["views"])
        declared = outlets_of(interpreter.pipeline.catalog)
        elsewhere = bool(declared) and not (values["views"] or values["output"])
        if values["output"] is None and not elsewhere:
            refuse_several(views, values["style"])
        for view in views if values["final"] else ():
            check_content(interpreter.pipeline.catalog, view)
        if not statements:
            check_followed(interpreter.pipeline.catalog, once=values["once"])
        if values["output"] is not None:
            directory = None if values["directory"] is None else Path(values["directory"])
            claim(Path(values["output"]), directory, overwrite=values["overwrite"])
        if not values["final"] and not elsewhere:
            outputs.append(_changes(interpreter, values, views))
        interpreter.pipeline.give(outputs)
        interpreter.run_program(statements, source)
        check_finished(interpreter.pipeline)
        _follow(interpreter, outputs, values["directory"], once=values["once"])
        if values["final"]:
            _write_contents(interpreter, views, values["style"], values["output"])


def _changed(source: str, values: dict[str, Any]) -> None:
    """Have the program take the place of another that the directory has, if that is wanted; else PROGRAM_CHANGED."""
    from penstock.cli.deploying import change_wanted, shown, told
    from penstock.cli.reporting import note
    from penstock.cli.resting import is_another, resting, rests

    if values["directory"] is None or values["rebuild"]:
        return
    place = Path(values["directory"])
    if not is_another(source, values["dialect"], place) or not rests(place):
        return  # one that is in use is refused when it is opened
    with resting(engine_of(values), place) as target:
        found = target.deployment(source)
        shown(found, "text", err=True)
        differs = bool(found["statements"] or found["problems"])
        if differs and not change_wanted(found, place, yes=values["yes"]):
            raise click.exceptions.Exit(WRONG)
        done = target.deploy(source)  # where nothing differs in what it means, its text is noted
        if differs:
            note(told(done))


def _changes(interpreter: Interpreter, values: dict[str, Any], views: Sequence[str]) -> Output:
    """Where changes go; those of one view in the form that is asked for."""
    from penstock.cli.changes import FormOutput, OfProgram, change_output
    from penstock.outputs.forms import Form, check_form, key_of

    if values.get("form") is None:
        if values["views"] or (values["output"] is None and values["style"] not in ("text", "json")):
            return change_output(values["style"], views, values["output"])
        pipeline = interpreter.pipeline
        return OfProgram(
            lambda: chosen_views(pipeline.catalog, ()),
            lambda names: change_output(values["style"], names, values["output"]),
        )
    if values["style"] not in ("text", "json", "csv"):
        message = f"--form is written as text, json or csv, not as {values['style']}."
        raise click.UsageError(message)
    catalog, form = interpreter.pipeline.catalog, Form(values["form"])
    view = catalog.views[views[0].lower()]
    check_form(form, view, catalog)
    return FormOutput(view.name, values["style"], form, key_of(view, catalog))


def _follow(interpreter: Interpreter, outputs: Sequence[Output], directory: str | None, *, once: bool) -> None:
    """Follow the sources; a program without any ends here. Ctrl-C is the way to end it, and no error."""
    from penstock.cli.attach.server import attachable
    from penstock.pipeline.supported import has_sources

    if not has_sources(interpreter.pipeline.catalog) and (once or interpreter.pipeline.steps):
        for output in outputs:
            output.close()
        return
    try:
        with attachable(interpreter.pipeline, directory):
            interpreter.pipeline.run(once=once, outputs=outputs)
    except KeyboardInterrupt:
        interpreter.pipeline.stop()


def _write_contents(interpreter: Interpreter, views: Sequence[str], style: str, folder: str | None) -> None:
    from penstock.cli.interpreter import said_of_spark
    from penstock.cli.results import write_content
    from penstock.outputs.names import file_name

    for view in views:
        answer = interpreter.pipeline.content(view)
        if folder is None:
            with said_of_spark(interpreter.pipeline.catalog):
                write_content(answer, style, view)
        else:
            target = f"{folder}/{file_name(view)}"
            writer = answer.df().write.mode("overwrite")
            (writer.json if style == "json" else writer.parquet)(target)
