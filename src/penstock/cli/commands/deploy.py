"""`penstock deploy`: another program takes the place of the one that runs, in one step."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from penstock.cli.options import EngineOptions, engine_option, format_option, option
from penstock.cli.reporting import FINE, WRONG, note

if TYPE_CHECKING:
    from penstock.cli.attach.client import Attached
    from penstock.cli.resting import Resting


@click.command("deploy")
@click.argument("program", type=click.Path(exists=True, dir_okay=False, allow_dash=True))
@option(
    "--dir",
    "directory",
    type=click.Path(file_okay=False),
    required=True,
    help="The directory of the `penstock run --dir DIRECTORY` whose program changes.",
)
@engine_option
@option("--yes", is_flag=True, help="Do it without asking.")
@option("--dry-run", is_flag=True, help="Show the difference, and do nothing.")
@format_option("text", "json")
def command(program: str, directory: str, *, engine: str | None, yes: bool, dry_run: bool, style: str) -> int:
    """Have a PROGRAM take the place of the one that runs in a directory, after showing the difference.

    Where nobody runs, it takes the place of the one that the directory was left with; --engine is for this alone.

    Views that mean the same keep their answers and their state. Others are filled from what tables hold, beside those
    at work, and change places in one step, which shows what is different: outputs get that, and not everything again.
    How far they are is said on stderr. If it fails, or is stopped before that step (Ctrl-C), nothing has changed. Exit
    code 1 where something cannot be done, or the answer is no.
    """
    from penstock.cli.attach.client import Attached
    from penstock.cli.interpreter import Results
    from penstock.cli.programs import read_text
    from penstock.cli.resting import resting, rests

    text, place = read_text(program), Path(directory)
    if not rests(place):
        return _deployed(Attached(place, Results()), text, style, yes=yes, dry_run=dry_run)
    with resting(EngineOptions("local[*]", {}, directory, engine), place) as target:
        return _deployed(target, text, style, yes=yes, dry_run=dry_run)


def _deployed(target: Attached | Resting, text: str, style: str, *, yes: bool, dry_run: bool) -> int:
    from penstock.cli.deploying import shown, told

    found = target.deployment(text)
    shown(found, style)
    if found["problems"]:
        return WRONG
    if dry_run or not _wanted(found, yes=yes):
        return FINE if dry_run or not found["statements"] else _declined()
    done = target.deploy(text)
    click.echo(json.dumps(done) if style == "json" else told(done))
    return FINE


def _wanted(found: dict[str, Any], *, yes: bool) -> bool:
    if not found["statements"]:
        return False
    if yes:
        return True
    if not sys.stdin.isatty():
        message = "there is nobody to ask: say --yes, or --dry-run"
        raise click.UsageError(message)
    return click.confirm("Do it?", err=True)


def _declined() -> int:
    note("nothing has changed")
    return WRONG
