"""`penstock state`: what lies in a directory, without starting it; and its archive."""

from __future__ import annotations

import json
from pathlib import Path

import click

from penstock.cli.options import format_option, option
from penstock.cli.reporting import FINE, note


@click.command("state")
@click.argument("directory", type=click.Path(file_okay=False))
@option("--export", "target", type=click.Path(dir_okay=False), help="Write all of it into this one file (tar).")
@option("--import", "source", type=click.Path(exists=True, dir_okay=False), help="Make the DIRECTORY of such a file.")
@option("--forget-output", "output", metavar="NAME", help="Nothing more is to be given to an output of --output.")
@format_option("text", "json")
def command(directory: str, target: str | None, source: str | None, output: str | None, style: str) -> int:
    """Show what the DIRECTORY of `penstock run --dir` has, without starting it: program, step, clock, tables, states.

    It may be at work meanwhile. With --export or --import nobody may work in it. Another machine goes on from an
    archive as this one would have; outputs take it for the same pipeline, so only one of the two may go on.
    """
    from penstock.cli.directory import told

    if sum(item is not None for item in (target, source, output)) > 1:
        message = "--export, --import and --forget-output go one at a time."
        raise click.UsageError(message)
    place = Path(directory)
    if target is not None or source is not None:
        return _archived(place, target, source)
    if output is not None:
        from penstock.pipeline.inspection import forget_output

        forget_output(place, output)
        note(f"{output} is forgotten; if it is used again it begins with the step of then")
        return FINE
    from penstock.pipeline.inspection import directory_facts

    found = directory_facts(place)
    click.echo(json.dumps(found.to_json(), ensure_ascii=False) if style == "json" else told(found))
    return FINE


def _archived(place: Path, target: str | None, source: str | None) -> int:
    from penstock.pipeline.archives import export_directory, import_directory

    if target is not None:
        note(f"{export_directory(place, Path(target)):,} files of {place} are in {target}")
    elif source is not None:
        note(f"{import_directory(Path(source), place):,} files of {source} are in {place}")
    return FINE
