"""Options that several commands share; each has a PENSTOCK_… variable."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import click

from penstock.catalog.settings import ENGINES

Command = TypeVar("Command", bound=Callable[..., Any])
FORMATS = ("text", "json", "csv", "arrow", "parquet")
DIALECTS = ("penstock", "feldera", "calcite", "flink", "timeplus")


def option(*names: str, **settings: Any) -> Callable[[Command], Command]:
    """`click.option` with the variable PENSTOCK_<LONG NAME>, shown in the help."""
    long = next(name for name in names if name.startswith("--")).split("/", 1)[0]
    variable = "PENSTOCK_" + long.removeprefix("--").replace("-", "_").upper()
    return click.option(*names, envvar=variable, show_envvar=True, **settings)


class WholeText(click.ParamType[str]):
    """Text whose variable holds one value, blanks included."""

    name = "sql"

    def split_envvar_value(self, rv: str) -> Sequence[str]:
        return [rv]


class Setting(click.ParamType[tuple[str, str]]):
    """`key=value`."""

    name = "key=value"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, str]:
        if isinstance(value, tuple):
            return value
        key, separator, setting = str(value).partition("=")
        if not separator or not key.strip():
            self.fail(f"{value!r} is not key=value, such as spark.driver.memory=4g", param, ctx)
        return key.strip(), setting.strip()


@dataclass(frozen=True)
class EngineOptions:
    """Where a pipeline runs and keeps itself."""

    master: str
    conf: Mapping[str, str]
    directory: str | None
    engine: str | None
    memory_limit: str | None = None


def program_options(command: Command) -> Command:
    """-f, -e and --dialect: where the program comes from."""
    for add in (
        option("--dialect", type=click.Choice(DIALECTS), default=None, help="Dialect of the SQL. [default: penstock]"),
        option("-e", "--execute", multiple=True, type=WholeText(), help="SQL text, after the files; may be repeated."),
        option(
            "-f",
            "--file",
            "files",
            multiple=True,
            type=click.Path(exists=True, dir_okay=False, allow_dash=True),
            help="A file with SQL, '-' for stdin; may be repeated.",
        ),
    ):
        command = add(command)
    return command


def engine_options(command: Command) -> Command:
    """--master, --engine, --conf and --dir: where the pipeline runs."""
    for add in (
        option("--dir", "directory", type=click.Path(file_okay=False), help="Keep the input log in this folder."),
        option("--conf", multiple=True, type=Setting(), help="A setting of Spark, as spark-submit has them."),
        option("--memory-limit", default=None, help="Memory for state in the process, such as 2GB. [default: 40 %]"),
        engine_option,
        option("--master", default="local[*]", show_default=True, help="Where Spark runs."),
    ):
        command = add(command)
    return command


def engine_option(command: Command) -> Command:
    """--engine: where operators work."""
    text = "Where operators work: in the process ('native'), on Spark, or wherever is proven ('auto')."
    return option("--engine", type=click.Choice(ENGINES), default=None, help=text)(command)


def format_option(*formats: str) -> Callable[[Command], Command]:
    """--format with the formats that the command can write."""
    choices = click.Choice(formats or FORMATS)
    return option("--format", "style", type=choices, default="text", show_default=True, help="How results are written.")


def engine_of(values: Mapping[str, Any]) -> EngineOptions:
    """The engine's options out of a command's parameters."""
    return EngineOptions(
        values["master"], dict(values["conf"]), values["directory"], values["engine"], values["memory_limit"]
    )
