"""A change of program as text."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import click

from penstock.cli.reporting import note
from penstock.errors import DataError, Diagnostic

_SIGNS = {"added": "+", "removed": "-", "changed": "~", "rebuilt": "~", "unchanged": " ", "refused": "!"}


def shown(found: dict[str, Any], style: str, *, err: bool = False) -> None:
    """Write the differences, what they cost, and what cannot be done; all on stderr where stdout has results."""
    if style == "json":
        click.echo(json.dumps(found, ensure_ascii=False))
        return
    for item in found["differences"]:
        about = f": {item['about']}" if item["about"] else ""
        click.echo(f"{_SIGNS[item['what']]} {item['kind']} {item['name']} {item['what']}{about}", err=err)
    if not found["statements"] and not found["problems"]:
        click.echo("nothing is different", err=err)
    elif not found["problems"]:
        click.echo(_cost(found), err=err)
    for item in found["problems"]:
        note(f"error[{item['code']}]: {item['message']}")
        if item.get("hint"):
            note(f"  hint: {item['hint']}")


def change_wanted(found: dict[str, Any], directory: Path, *, yes: bool) -> bool:
    """True if a program may take the place of another; DataError where nobody can be asked."""
    if found["problems"]:
        return False
    if yes:
        return True
    if not sys.stdin.isatty():
        message = f"{directory} belongs to another program, and there is nobody to ask"
        hint = "--yes has this one take its place, --rebuild makes everything again from the log; or name another --dir"
        raise DataError(Diagnostic("PROGRAM_CHANGED", message, hint=hint))
    return click.confirm("Do it?", err=True)


def told(done: dict[str, Any]) -> str:
    """The step that did it, and the changed rows of each view."""
    changed = ", ".join(f"{name}: {number:,} changed rows" for name, number in done["changed"].items())
    return f"done with step {done['step']}" + (f" ({changed})" if changed else "")


def _cost(found: dict[str, Any]) -> str:
    seconds = found["seconds"]
    about = "" if seconds is None else f", about {max(seconds, 0.1):,.1f} s at the rate of the steps so far"
    rows, waiting = f"{found['rows']:,} rows are read again{about}", found["at_once"]
    if not waiting:
        return f"{rows}; the views of a run that is at work go on meanwhile"
    why = "".join(f"\n  {item['name']}: {item['why']}" for item in waiting)
    return f"{rows}; other views wait while these are made:{why}"
