"""What `penstock bench nexmark` runs."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

import click

from bench.nexmark import page as pages
from bench.nexmark import report, run
from bench.nexmark.generate import Stream
from bench.nexmark.measure import Measured
from bench.nexmark.queries import chosen
from bench.nexmark.run import Wanted
from bench.nexmark.task import SYSTEMS


def command(
    *,
    events: int,
    step: int,
    queries: str,
    against: str,
    rate: float,
    disorder: float,
    seed: int,
    files: Sequence[str],
    every_step: bool,
    memory: str,
    data: Path | None,
    results: Path | None,
    page: Path | None,
    style: str,
) -> bool:
    """Measure, show, and say whether every answer was right."""
    wanted = Wanted(
        _queries(queries),
        _systems(against),
        Stream(events, rate, seed, disorder),
        min(step, events),
        data,
        every_step,
        memory,
        tuple({"parquet", *files}),
        results,
    )
    found: list[Measured] = []
    for measured in run.results(wanted, said=lambda line: click.echo(line, err=True)):
        found.append(measured)
        if page is not None:
            pages.keep(page, wanted, measured)
        if style == "json":
            click.echo(json.dumps(measured.as_object()))
            sys.stdout.flush()
    if style == "text":
        click.echo(report.text(found, wanted.step) + report.FOOTNOTE)
    if page is not None:
        pages.write(page)
        click.echo(f"written: {page}", err=True)
    return all(measured.equal is not False for measured in found)


def _queries(names: str) -> Sequence[object]:
    try:
        return chosen(names)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--queries") from None


def _systems(names: str) -> list[str]:
    """Penstock first, then those asked for, each once."""
    wanted = [name.strip().lower() for name in names.split(",") if name.strip()]
    if "all" in wanted:
        return list(SYSTEMS)
    for name in wanted:
        if name not in {*SYSTEMS, "none"}:
            message = f"{name!r} is no system: there are {', '.join(SYSTEMS[1:])}, all and none"
            raise click.BadParameter(message, param_hint="--against")
    return ["penstock", *(name for name in SYSTEMS[1:] if name in wanted)]
