"""Connectors that other packages bring: entry points of the group `penstock.sources`, by the connector's name.

    [project.entry-points."penstock.sources"]
    mqtt = "penstock_mqtt.source"

What is named there has `PROPERTIES` and `open_source`, as the modules of `api.CONNECTORS` have; a name that stands in
that table is taken from there. A package is looked for and loaded only where a program names its connector.
"""

from __future__ import annotations

from importlib.metadata import EntryPoint, entry_points
from typing import Any

from penstock.catalog.model import Table
from penstock.errors import Diagnostic, SqlError

GROUP = "penstock.sources"


def installed_names() -> list[str]:
    """The names of the connectors that are installed beside Penstock's own."""
    return sorted({point.name.lower() for point in entry_points(group=GROUP)})


def load_installed(table: Table, name: str) -> Any | None:
    """The connector of that name, None if no package brings one; SqlError if it cannot be loaded, or two bring it."""
    found = {_package(point): point for point in entry_points(group=GROUP) if point.name.lower() == name}
    if not found:
        return None
    if len(found) > 1:
        message = f"table {table.name}: the connector {name!r} is brought by {' and by '.join(sorted(found))}"
        raise SqlError(Diagnostic("BROKEN_CONNECTOR", message, table.span, hint="uninstall one of them"))
    ((package, point),) = found.items()
    try:
        loaded = point.load()
    except Exception as error:  # what another package does when it is loaded is its own
        raise _broken(table, point, package, f"{type(error).__name__}: {error}") from error
    lacking = [part for part in ("PROPERTIES", "open_source") if not hasattr(loaded, part)]
    if lacking:
        raise _broken(table, point, package, f"{point.value} has no {lacking[0]}")
    return loaded


def _package(point: EntryPoint) -> str:
    return "an unnamed package" if point.dist is None else f"{point.dist.name} {point.dist.version}"


def _broken(table: Table, point: EntryPoint, package: str, what: str) -> SqlError:
    message = f"table {table.name}: the connector {point.name!r} of {package} cannot be used: {what[:300]}"
    return SqlError(Diagnostic("BROKEN_CONNECTOR", message, table.span, hint=f"it is the package's: {point.value}"))
