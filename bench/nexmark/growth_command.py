"""python -m bench.nexmark.growth_command --page docs/performance-growth.md: what `make bench-growth` runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from bench.nexmark import growth_page
from bench.nexmark.growth import SIZES, STEPPED, Wanted, measured
from bench.nexmark.longrun import LEAST_STEPS, LONG
from bench.nexmark.queries import chosen
from bench.ways import ENGINES


@click.command()
@click.option("--events", type=click.IntRange(1), default=20_000_000, show_default=True, help="Events of a long run.")
@click.option("--step", type=click.IntRange(1), default=250_000, show_default=True, help="Events in each of its steps.")
@click.option("--long", default=",".join(LONG), show_default=True, help="Queries of long runs, or none.")
@click.option("--short", default=",".join(STEPPED), show_default=True, help="Queries with steps of each size, or none.")
@click.option("--sizes", default=",".join(map(str, SIZES)), show_default=True, help="Sizes of those steps.")
@click.option("--engines", default="native", show_default=True, help="Where operators work: native,spark.")
@click.option("--memory", default="8g", show_default=True, help="Memory of the JVM.")
@click.option("--page", type=click.Path(dir_okay=False, path_type=Path), required=True, help="Where it is written.")
def main(*, page: Path, **values: Any) -> None:
    """Measure how Penstock's cost grows, and write a page with two pictures; what was measured before stays on it."""
    for name in ("long", "short"):
        values[name] = [] if values[name] == "none" else chosen(values[name])
    if values["long"] and values["events"] < LEAST_STEPS * values["step"]:
        message = f"a long run has at least {LEAST_STEPS} steps: a quarter of it is cut into tenths"
        raise click.BadParameter(message, param_hint="--events")
    values["engines"] = values["engines"].split(",")
    if unknown := set(values["engines"]) - set(ENGINES):
        message = f"{', '.join(sorted(unknown))!r} is no engine: there are {', '.join(ENGINES)}"
        raise click.BadParameter(message, param_hint="--engines")
    values["sizes"] = [int(size) for size in values["sizes"].split(",")]
    for found in measured(Wanted(**values)):
        growth_page.keep(page, found)
        growth_page.write(page)
        click.echo(growth_page.line(found), err=True)


if __name__ == "__main__":
    main()
