"""Write the pages of docs that are made from the program itself."""

from __future__ import annotations

import ast
import importlib
import inspect
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from penstock.catalog.properties import Property as Named
    from penstock.sources.properties import Property

sys.path.insert(0, str(Path(__file__).resolve().parent))  # it may have been loaded by its path
from case_files import cases_page
from dialect_words import page_with_words
from emission_picture import emission_picture
from python_api import python_page, relations_page

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src" / "penstock"


def cli_page() -> str:
    """The reference of all commands, from their own help texts."""
    from penstock.cli.main import main as cli

    context = click.Context(cli, info_name="penstock")
    lines = [
        "# The command line",
        "",
        "<!-- written by `make docs`; change the help texts in src/penstock/cli instead -->",
        "",
        *_about(cli),
        *_options(cli, context),
        *(line for name in cli.list_commands(context) for line in _command(cli, name, context)),
    ]
    return "\n".join(lines).rstrip() + "\n"


def _command(group: click.Group, name: str, parent: click.Context) -> Iterator[str]:
    command = group.get_command(parent, name)
    if command is None or command.hidden:
        return
    context = click.Context(command, info_name=name, parent=parent)
    usage = " ".join(command.collect_usage_pieces(context))
    yield from (f"## penstock {name}", "", "```", f"penstock {name} {usage}".rstrip(), "```", "")
    yield from (*_about(command), *_options(command, context))


def _about(command: click.Command) -> Iterator[str]:
    r"""A help text; what `\b` protects from wrapping becomes a code block."""
    for paragraph in inspect.cleandoc(command.help or "").replace("\f", "").split("\n\n"):
        kept = paragraph.lstrip("\n")
        if kept.startswith("\b\n"):
            yield from ("```", *(line.removeprefix("  ") for line in kept[2:].split("\n")), "```", "")
        else:
            yield from (kept, "")


def _options(command: click.Command, context: click.Context) -> Iterator[str]:
    options = [one for one in command.get_params(context) if isinstance(one, click.Option) and "--help" not in one.opts]
    rows = [record for one in options if (record := one.get_help_record(context)) is not None]
    if not rows:
        return
    yield from ("| option | |", "| --- | --- |")
    yield from (f"| `{_cell(names)}` | {_cell(text)} |" for names, text in rows)
    yield ""


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def incremental_page() -> str:
    """What is incremental, as the circuits of examples say."""
    from penstock.engine.foreseeing import foreseen
    from penstock.explain.constructs import page

    return page(foreseen)


def proven_page() -> str:
    """What is proven to mean in the process what it means on Spark, as the proofs say."""
    from penstock.backends.native.listing import page

    return page()


def settings_page() -> str:
    """The settings of Spark by which SQL means something else, as the catalog judges them."""
    from penstock.catalog.meanings import REFUSED, SPARK_ALONE, meanings, without_meaning

    def listed(kind: str) -> Iterator[str]:
        yield from ("| setting | assumed | |", "| --- | --- | --- |")
        for item in meanings().values():
            if item.kind == kind:
                assumed = f"`{item.assumed}`" if item.assumed else "not set"
                yield f"| `{item.name}` | {assumed} | {_cell(item.decides)} |"
        yield ""

    lines = [
        "# Settings of Spark by which SQL means something else",
        "",
        "<!-- written by `make docs`; change src/penstock/catalog/spark_meanings.txt instead -->",
        "",
        "What is proven to have Spark's answers in the process is proven for one value of each setting: that of a",
        "session of Penstock, which is Spark's own default unless said otherwise. Where another value is in effect, by",
        "`SET spark.…`, by `--conf` or `conf=`, or in the session that is given or running, a program is refused, or",
        "works on Spark as a whole, which has the answers of that session. What a program SETs goes first.",
        "",
        "A setting of Spark SQL that is in none of these lists is another version's, or a library's: under it all is",
        "on Spark, since nothing is known of it. Case and blanks around a value do not count.",
        "",
        "## Refused",
        "",
        "Penstock reads and binds a program itself. Another value would have it misread on either engine, so it is",
        "refused (`SPARK_MEANING`), as a session without ANSI mode is. The last column says what holds.",
        "",
        *listed(REFUSED),
        "## On Spark alone",
        "",
        "With another value all operators and queries work on Spark. EXPLAIN (CIRCUIT) names the setting, and",
        "`engine = 'native'` refuses it (`NOT_NATIVE`). The last column says what it decides.",
        "",
        *listed(SPARK_ALONE),
        "## Without meaning",
        "",
        "On these no answer depends; a `*` stands for any rest.",
        "",
        "| settings | |",
        "| --- | --- |",
        *(f"| {', '.join(f'`{name}`' for name in names)} | {_cell(why)} |" for names, why in without_meaning()),
    ]
    return "\n".join(lines) + "\n"


def waterlines_page() -> str:
    """Which waterlines are inferred, as the analysis says of examples."""
    from penstock.explain.waterlines import page

    return page()


def properties_page() -> str:
    """The properties of tables, views, and of sources, as the catalog and the connectors declare them."""
    from penstock.catalog.properties import TABLE, VIEW
    from penstock.outputs.connectors import CONNECTORS as OUTPUTS
    from penstock.outputs.declared import COMMON
    from penstock.sources.api import CONNECTORS

    assert CONNECTORS.keys() == ABOUT.keys(), "a connector is missing from this page"  # noqa: S101
    lines = [
        "# Properties",
        "",
        "<!-- written by `make docs`; change catalog/properties.py and sources/ in src/penstock instead -->",
        "",
        "What stands in `WITH ('property' = 'value', …)`. A name that is not here is refused (`UNKNOWN_PROPERTY`), and",
        "so is a value that a property cannot have.",
        "",
        "## Of tables",
        "",
        *_meanings(TABLE),
        "",
        "## Of views",
        "",
        *_meanings(VIEW),
        *(line for name, module in CONNECTORS.items() for line in _connector(name, module)),
        "",
        "## Of outputs",
        "",
        "For views with a connector, and tables with one that are written ([outputs.md](outputs.md)).",
        "",
        *_properties(COMMON),
        *(line for name, module in OUTPUTS.items() for line in _output(name, module)),
    ]
    return "\n".join(lines) + "\n"


# What the page says of each connector, before its properties.
ABOUT = {
    "files": ", or with LOCATION ([as Spark has it](sql.md#as-spark-has-it)). "
    "[Files](sql.md#files) says how they are read.",
    "delta": ", or `USING delta LOCATION`. [Lakes](lake.md) says how they are read.",
    "iceberg": ", or `USING iceberg LOCATION`. [Lakes](lake.md) says how they are read.",
    "datagen": ". [Datagen](datagen.md) says what the rules are.",
    "kafka": ". [Kafka](kafka.md) says how topics are read.",
    "upsert-kafka": ": [kafka](kafka.md) with messages that replace each other by key, as Flink has it.",
    "sql": ". [PostgreSQL](postgres.md#by-a-column-that-grows) says when to follow a table instead.",
    "http": ". [HTTP](http.md) says how rows are pushed.",
    "spark": ", or `USING` a format of Spark's. [Spark](spark.md) says how it is read.",
    "postgres": ". [PostgreSQL](postgres.md) says how tables are followed.",
}


def _connector(name: str, module: str) -> Iterator[str]:
    """The properties of a connector's tables."""
    yield from ("", f"## Of {name}", "", f"For tables with `'connector' = '{name}'`{ABOUT[name]}", "")
    yield from _properties(importlib.import_module(module).PROPERTIES)


def _output(name: str, module: str) -> Iterator[str]:
    """The properties of a connector's outputs."""
    yield from ("", f"## Of outputs to {name}", "", f"For `'connector' = '{name}'`, beside those of all outputs.", "")
    if own := importlib.import_module(module).PROPERTIES:
        yield from _properties(own)
    else:
        yield "It has none of its own."


def _properties(items: Iterable[Property]) -> Iterator[str]:
    yield from ("| property | takes | default | |", "| --- | --- | --- | --- |")
    for item in items:
        yield f"| `{item.name}` | {_takes(item)} | {_default(item)} | {_cell(item.about)} |"


def _meanings(items: Iterable[Named]) -> list[str]:
    return ["| property | |", "| --- | --- |", *(f"| `{item.name}` | {_cell(item.meaning)} |" for item in items)]


def _takes(item: Property) -> str:
    said = ", ".join(f"`'{value}'`" for value in item.values) or _cell(item.takes)
    return f"{said}; {' and '.join(item.formats)} only" if item.formats else said


def _default(item: Property) -> str:
    return "" if item.default is None else f"`'{_cell(item.default)}'`"


def tests_page() -> str:
    """Which tests are about a module: those that import it, and beside them the folder named like its package."""
    importers = _importers()
    packages = sorted({path.parent for path in SOURCE.rglob("*.py") if path.parent != SOURCE})
    lines = [
        "# Which tests cover a module",
        "",
        "<!-- written by `make docs` from the imports of the tests -->",
        "",
        "A test is named beside a module that it imports. A module without one is seen through those that use it: by",
        "the case files (`tests/cases`, `tests/acceptance/cases`) above all, which go through the whole house, and by",
        "the tests of its package's folder. `make test ARGS=tests/bind` runs one folder.",
        "",
        *(line for package in packages for line in _covered(package, importers)),
    ]
    return "\n".join(lines).rstrip() + "\n"


def _importers() -> dict[str, set[str]]:
    """By module, the files of tests that import it."""
    found: dict[str, set[str]] = {}
    for path in sorted((ROOT / "tests").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            for name in _imported(node):
                found.setdefault(name, set()).add(path.relative_to(ROOT / "tests").as_posix())
    return found


def _imported(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [item.name for item in node.names]
    if isinstance(node, ast.ImportFrom) and node.module:
        return [node.module, *(f"{node.module}.{item.name}" for item in node.names)]
    return []


def _covered(package: Path, importers: dict[str, set[str]]) -> Iterator[str]:
    modules = sorted(path for path in package.glob("*.py") if path.stem != "__init__")
    if not modules:
        return
    title = package.relative_to(SOURCE).as_posix()
    yield from (f"## {title}", "")
    folder = ROOT / "tests" / title.split("/")[0]
    if folder.is_dir():
        yield from (f"Its tests are in `tests/{folder.name}`.", "")
    yield from ("| module | imported by |", "| --- | --- |")
    for path in modules:
        name = ".".join(("penstock", *path.relative_to(SOURCE).with_suffix("").parts))
        yield f"| `{path.stem}` | {', '.join(f'`{test}`' for test in sorted(importers.get(name, ())))} |"
    yield ""


PAGES: dict[str, Callable[[], str]] = {
    "docs/emission.svg": emission_picture,
    "docs/reference/cases.md": cases_page,
    "docs/reference/cli.md": cli_page,
    "docs/reference/incremental.md": incremental_page,
    "docs/reference/properties.md": properties_page,
    "docs/reference/proven.md": proven_page,
    "docs/reference/python.md": python_page,
    "docs/reference/relations.md": relations_page,
    "docs/reference/settings.md": settings_page,
    "docs/reference/waterlines.md": waterlines_page,
    **{
        f"docs/reference/{name}.md": partial(page_with_words, name)
        for name in ("calcite", "feldera", "flink", "timeplus")
    },
    "docs/tests.md": tests_page,
}


def main() -> None:
    """Write all pages."""
    for path, page in PAGES.items():
        (ROOT / path).write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
