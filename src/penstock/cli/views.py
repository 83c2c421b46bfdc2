"""The views that a command is about."""

from __future__ import annotations

from collections.abc import Sequence

import click

from penstock.catalog.model import Catalog
from penstock.cli.results import ONE_RELATION
from penstock.errors import Diagnostic, SqlError, did_you_mean


def chosen_views(catalog: Catalog, names: Sequence[str]) -> tuple[str, ...]:
    """The views that are named, or all that are outputs; SqlError for a name that is none."""
    known = [view.name for view in catalog.named_views()]
    for name in names:
        if name.lower() not in catalog.views:
            near = did_you_mean(name, known)
            raise SqlError(Diagnostic("UNKNOWN_VIEW", f"there is no view {name[:100]}", candidates=near))
    if names:
        return tuple(catalog.views[name.lower()].name for name in names)
    return tuple(view.name for view in catalog.views.values() if view.is_output)


def refuse_several(views: Sequence[str], style: str) -> None:
    """Wrong usage if several views should go into a stream that holds one relation."""
    if style in ONE_RELATION and len(views) > 1:
        message = f"--format {style} on stdout holds one view: choose it with --view, or give a folder with --output."
        raise click.UsageError(message)
