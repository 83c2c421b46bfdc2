"""`penstock demo`: the flights of 2013, replayed live."""

from __future__ import annotations

from pathlib import Path

import click

from penstock.cli.options import engine_option, option
from penstock.cli.reporting import FINE, WRONG


@click.command("demo")
@option("--days", type=click.IntRange(1), default=None, help="Only so many days of the year. [default: all]")
@option(
    "--speed",
    type=click.FloatRange(min=0, min_open=True),
    default=None,
    help="Seconds of 2013 in one second. [default: as fast as it goes]",
)
@option(
    "--dir",
    "directory",
    type=click.Path(file_okay=False, path_type=Path),
    default=None,
    help="Keep the events in this folder.",
)
@option("--master", default="local[*]", show_default=True, help="Where Spark runs.")
@engine_option
def command(days: int | None, speed: float | None, directory: Path | None, master: str, engine: str | None) -> int:
    """Replay 336,776 real flights as they happened, keep the questions about them answered, verify the answers."""
    from penstock.demo import run

    return FINE if run(days=days, speed=speed, directory=directory, master=master, engine=engine).ok else WRONG
