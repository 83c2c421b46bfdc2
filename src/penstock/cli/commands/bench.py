"""`penstock bench`: the benchmarks, which live in the source tree beside the package and are not installed with it."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

import click

from penstock.cli.options import option
from penstock.cli.reporting import FINE, WRONG
from penstock.errors import Diagnostic, UnsupportedError

_ROOT = Path(__file__).resolve().parents[4]
SYSTEMS = ("penstock", "penstock-spark", "flink", "streaming", "batch", "duckdb")


@click.command("bench")
@click.argument("suite", type=click.Choice(["nexmark"]))
@option("--events", type=click.IntRange(1), default=1_000_000, show_default=True, help="How many events.")
@option("--step", type=click.IntRange(1), default=250_000, show_default=True, help="How many events in a step.")
@option("--queries", default="all", show_default=True, help="Which queries, such as q0,q4-q9.")
@option(
    "--against",
    default="batch",
    show_default=True,
    help=f"Other systems beside penstock: {', '.join(SYSTEMS[1:])}, all, none.",
)
@option(
    "--rate",
    type=click.FloatRange(min=0, min_open=True),
    default=10_000.0,
    show_default=True,
    help="Events in a second of event time.",
)
@option(
    "--disorder",
    type=click.FloatRange(0, 4),
    default=0.0,
    show_default=True,
    help="Seconds that events may be out of order.",
)
@option("--seed", type=int, default=1, show_default=True, help="Another seed makes other events.")
@option(
    "--files",
    multiple=True,
    type=click.Choice(["parquet", "json", "csv"]),
    help="Write the same events in this format too, below --data; may be repeated.",
)
@option("--every-step", is_flag=True, help="Compare Penstock's answer with batch after every step, not the last only.")
@option("--memory", default="4g", show_default=True, help="Memory for each system, as Java writes it.")
@option(
    "--data", type=click.Path(file_okay=False, path_type=Path), default=None, help="Keep the events in this folder."
)
@option(
    "--results",
    type=click.Path(file_okay=False, path_type=Path),
    default=None,
    help="Keep what is measured in this folder, query by query; a run that was stopped goes on there.",
)
@option(
    "--page",
    type=click.Path(dir_okay=False, path_type=Path),
    default=None,
    help="Write the tables into this file, and a plot beside it.",
)
@option(
    "--format",
    "style",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="How results are written.",
)
def command(**values: Any) -> int:
    """Measure Penstock with the SUITE, beside other systems, on the same files and cores.

    Answers are compared with Spark's batch before any time is shown. This needs the source tree, where `bench/` lies
    beside `src/`; an installed package does not hold it. JSON is one object for each query and system.
    """
    suite = _suite(values.pop("suite"))
    return FINE if suite.command(**values) else WRONG


def _suite(name: str) -> Any:
    if not (_ROOT / "bench" / name / "__init__.py").exists():
        message = "the benchmarks are not installed with the package"
        hint = "Run it in a clone of the source tree: make bench-nexmark, or penstock bench after make setup."
        raise UnsupportedError(Diagnostic("NO_BENCHMARKS", message, hint=hint))
    if str(_ROOT) not in sys.path:
        sys.path.insert(0, str(_ROOT))
    return importlib.import_module(f"bench.{name}.command")
