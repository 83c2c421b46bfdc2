"""`penstock fsck`: whether the files of a directory are what was written, and what mends those that are not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from penstock.cli.options import format_option, option
from penstock.cli.reporting import FINE, WRONG, note

if TYPE_CHECKING:
    from penstock.pipeline.directory_check import DirectoryCheck


@click.command("fsck")
@click.argument("directory", type=click.Path(exists=True, file_okay=False))
@option("--repair", is_flag=True, help="Mend what can be mended; what is replaced is kept in DIRECTORY/damaged.")
@format_option("text", "json")
def command(directory: str, repair: bool, style: str) -> int:  # noqa: FBT001 - click gives it
    """Check every file of the DIRECTORY of `penstock run --dir` against its digest; nobody may work in it.

    Says what is damaged, what that costs, and what would mend it. The exit code is 0 if all is whole, or is mended.
    """
    from rich.console import Console
    from rich.progress import Progress

    from penstock.pipeline.directory_check import check_directory

    console = Console(stderr=True)
    with Progress(console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task("files", total=None)
        found = check_directory(
            Path(directory),
            repair=repair,
            progress=lambda done, total: progress.update(task, completed=done, total=total),
        )
    click.echo(json.dumps(found.to_json(), ensure_ascii=False) if style == "json" else _text(found))
    if found.damages and not repair:
        note("`penstock fsck --repair` mends what can be mended, and keeps what it replaces")
    return FINE if found.is_whole else WRONG


def _text(found: DirectoryCheck) -> str:
    lines = [f"{found.path}: {found.files:,} files read, {len(found.damages):,} damaged"]
    for item in found.damages:
        lines += [f"damaged   {item.file}: {item.what}", f"  costs   {item.cost}"]
    lines += [f"repaired  {item}" for item in found.repaired]
    return "\n".join(lines)
