"""`penstock test`: run case files."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from penstock.cli.options import DIALECTS, Setting, engine_option, format_option, option
from penstock.cli.reporting import FINE, WRONG, note

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from penstock.testing.case_run import Result
    from penstock.testing.cases import Case


@click.command("test")
@click.argument("files", nargs=-1, required=True, type=click.Path(exists=True, dir_okay=False, path_type=Path))
@option("--dialect", type=click.Choice(DIALECTS), default=None, help="Dialect of files that name none.")
@option("--case", "names", multiple=True, help="Run this case only; may be repeated.")
@option("--tag", "tags", multiple=True, help="Run cases with this tag only; may be repeated.")
@option("--compact", is_flag=True, help="Merge all state and collect garbage after each step.")
@option(
    "--shuffle-steps", type=click.IntRange(0), default=0, help="Also run each case in so many other cuts into steps."
)
@option("--seed", type=int, default=0, show_default=True, help="Seed of the first cut.")
@engine_option
@option(
    "--oracle",
    type=click.Choice(("batch", "none")),
    default="batch",
    show_default=True,
    help="Recompute each view in batch after each step, or compare with what the case says alone, as far as possible "
    "without Spark.",
)
@option("--master", default="local[2]", show_default=True, help="Where Spark runs.")
@option("--conf", multiple=True, type=Setting(), help="A setting of Spark, as spark-submit has them.")
@format_option("text", "json", "junit")
def command(files: Sequence[Path], **values: Any) -> int:
    """Run the cases of FILES and check every view against batch after each step.

    Exits with 1 if a case failed or needs a feature that is not there (`unsupported`). --format junit writes JUnit XML
    when all have run.
    """
    from penstock.cli.junit import as_junit
    from penstock.testing.case_run import PASSED, Options, run_case
    from penstock.testing.cases import read_cases

    options = Options(
        values["compact"],
        values["shuffle_steps"],
        values["seed"],
        values["engine"],
        values["oracle"] == "batch",
        values["master"],
    )
    results: list[Result] = []
    with _spark(values["master"], dict(values["conf"]), surely=options.oracle) as session:
        cases = [(path, case) for path in files for case in read_cases(path, values["dialect"])]
        chosen = [(path, case) for path, case in cases if _wanted(case, values)]
        for path, case in chosen:
            result = run_case(case, str(path), session, options)
            results.append(result)
            _show(result, values["style"])
    statuses = Counter(result.status for result in results)
    if values["style"] == "junit":
        click.echo(as_junit(results))
    if values["style"] == "text":
        click.echo(", ".join(f"{count} {status}" for status, count in sorted(statuses.items())) or "no cases")
    if not chosen:
        note("no case has that name or tag")
    return FINE if set(statuses) <= {PASSED} else WRONG


def _wanted(case: Case, values: dict[str, Any]) -> bool:
    names, tags = values["names"], values["tags"]
    return (not names or case.name in names) and (not tags or bool(set(tags) & set(case.tags)))


@contextmanager
def _spark(master: str, conf: dict[str, str], *, surely: bool) -> Iterator[Any]:
    """A function that gives the session of all cases, started by the first that needs it; one that runs is lent.

    Where one is `surely` needed it is begun meanwhile.
    """
    from penstock.backends.spark.later import LaterSession
    from penstock.backends.spark.session import Aside, is_local, running_session
    from penstock.backends.spark.starting import Expected

    lent = []
    soon = surely and is_local(master) and running_session() is None
    expected = Expected(Aside(master, _SETTINGS | conf, _NAME), lambda: soon)

    @cache
    def session() -> SparkSession:
        from pyspark.sql import SparkSession

        from penstock.backends.spark.session import open_session

        expected.wait()
        expected.check()
        lent.append(SparkSession.getActiveSession() is not None)
        return open_session(master=master, conf=_SETTINGS | conf, app_name=_NAME)

    try:
        yield LaterSession(session, _SETTINGS | conf)
    finally:
        if not lent:
            expected.leave()
        elif lent == [False]:
            session().stop()


_NAME = "penstock-test"

# Cases are small: few partitions, and no time spent on compiling well what runs once.
_SETTINGS = {
    "spark.driver.memory": "2g",
    "spark.sql.shuffle.partitions": "2",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1",
}


def _show(result: Result, style: str) -> None:
    if style == "junit":  # one document, when all is known
        return
    if style == "json":
        click.echo(json.dumps(result.to_json(), ensure_ascii=False))
        return
    click.echo(f"{result.status:<11} {result.case} ({result.seconds:.1f} s)")
    if result.detail:
        click.echo("\n".join(f"            {line}" for line in result.detail.split("\n")))
