"""A change of program as text."""

from __future__ import annotations

import json
from typing import Any

import click

from penstock.cli.reporting import note

_SIGNS = {"added": "+", "removed": "-", "changed": "~", "rebuilt": "~", "unchanged": " "}


def shown(found: dict[str, Any], style: str) -> None:
    """Write the differences, what they cost, and what cannot be done."""
    if style == "json":
        click.echo(json.dumps(found, ensure_ascii=False))
        return
    for item in found["differences"]:
        about = f": {item['about']}" if item["about"] else ""
        click.echo(f"{_SIGNS[item['what']]} {item['kind']} {item['name']} {item['what']}{about}")
    if not found["statements"] and not found["problems"]:
        click.echo("nothing is different")
    elif not found["problems"]:
        click.echo(_cost(found))
    for item in found["problems"]:
        note(f"error[{item['code']}]: {item['message']}")
        if item.get("hint"):
            note(f"  hint: {item['hint']}")


def told(done: dict[str, Any]) -> str:
    """The step that did it, and the changed rows of each view."""
    changed = ", ".join(f"{name}: {number:,} changed rows" for name, number in done["changed"].items())
    return f"done with step {done['step']}" + (f" ({changed})" if changed else "")


def _cost(found: dict[str, Any]) -> str:
    seconds = found["seconds"]
    about = "" if seconds is None else f", about {max(seconds, 0.1):,.1f} s at the rate of the steps so far"
    return f"{found['rows']:,} rows are read again{about}; other views wait for that"
