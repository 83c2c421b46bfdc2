"""Write the pages of docs/reference that are made from the program itself."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from penstock.sources.properties import Property

ROOT = Path(__file__).resolve().parent.parent


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
    from penstock.explain.constructs import page

    return page()


def waterlines_page() -> str:
    """Which waterlines are inferred, as the analysis says of examples."""
    from penstock.explain.waterlines import page

    return page()


def properties_page() -> str:
    """What a table may say of its source, as the connectors declare it."""
    from penstock.sources.api import CONNECTORS
    from penstock.sources.files.declared import PROPERTIES

    assert list(CONNECTORS) == ["files"], "a connector is missing from this page"  # noqa: S101
    lines = [
        "# Properties of sources",
        "",
        "<!-- written by `make docs`; change the properties in src/penstock/sources instead -->",
        "",
        "What stands in `WITH ('property' = 'value', …)` behind a table with `'connector' = 'files'`.",
        "[Files](sql.md#files) says how they are read.",
        "",
        "| property | takes | default | |",
        "| --- | --- | --- | --- |",
        *(f"| `{item.name}` | {_takes(item)} | {_default(item)} | {_cell(item.about)} |" for item in PROPERTIES),
    ]
    return "\n".join(lines) + "\n"


def _takes(item: Property) -> str:
    said = ", ".join(f"`'{value}'`" for value in item.values) or _cell(item.takes)
    return f"{said}; {' and '.join(item.formats)} only" if item.formats else said


def _default(item: Property) -> str:
    return "" if item.default is None else f"`'{_cell(item.default)}'`"


PAGES: dict[str, Callable[[], str]] = {
    "docs/reference/cli.md": cli_page,
    "docs/reference/incremental.md": incremental_page,
    "docs/reference/properties.md": properties_page,
    "docs/reference/waterlines.md": waterlines_page,
}


def main() -> None:
    """Write all pages."""
    for path, page in PAGES.items():
        (ROOT / path).write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
