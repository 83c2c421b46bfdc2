"""`penstock`: the command group. Each command is loaded when it is called, so `--help` and `check` stay quick."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from typing import Any

import click

from penstock.cli.reporting import USAGE, end_as_interrupted, exit_codes
from penstock.cli.starting import collect_seldom
from penstock.errors import did_you_mean
from penstock.sql.nesting import room_for_nesting

_COMMANDS = (
    "run",
    "deploy",
    "state",
    "fsck",
    "sql",
    "check",
    "explain",
    "query",
    "changes",
    "test",
    "verify",
    "demo",
    "bench",
)


class Commands(click.Group):
    """Finds `penstock.cli.commands.<name>.command` by name, and turns errors into exit codes."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - the same
        if cmd_name not in _COMMANDS:
            return None
        command: click.Command = importlib.import_module(f"penstock.cli.commands.{cmd_name}").command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:

        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            near = did_you_mean(args[0], _COMMANDS)
            if not near:
                raise
            message = f"{error.message} Did you mean {near[0]!r}?"
            raise click.UsageError(message, ctx) from None

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,  # noqa: FBT001, FBT002 - click's signature
        **extra: Any,
    ) -> Any:
        """Run; the exit codes are those of `reporting`."""
        if not standalone_mode:
            return super().main(args, prog_name or "penstock", complete_var, standalone_mode=False, **extra)
        collect_seldom()
        with exit_codes(), room_for_nesting():
            end_as_interrupted()
            try:
                result = super().main(args, prog_name or "penstock", complete_var, standalone_mode=False, **extra)
            except click.exceptions.Abort:
                raise KeyboardInterrupt from None
            except click.ClickException as error:
                error.show()
                sys.exit(USAGE)
            sys.stdout.flush()
            sys.exit(result if isinstance(result, int) else 0)


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="penstock", prog_name="penstock")
def main() -> None:
    """Streaming SQL for Spark: every view stays exactly up to date as its tables change.

    Results go to stdout, everything else to stderr. Exit codes: 0 fine, 1 the program or the data is wrong (or a test
    failed), 2 wrong usage, 3 a mistake of Penstock, 130 interrupted. Ctrl-C is how `run` ends: 0.
    """


if __name__ == "__main__":
    main()
