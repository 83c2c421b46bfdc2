"""Connectors of outputs that other packages bring: entry points of the group `penstock.outputs`, by their names.

[project.entry-points."penstock.outputs"]
mqtt = "penstock_mqtt.output"
"""

from __future__ import annotations

from importlib.metadata import EntryPoint, entry_points

from penstock.catalog.properties import CONNECTORS, OUTPUTS

GROUP = "penstock.outputs"
_SOURCES = "penstock.sources"


def installed(name: str) -> list[EntryPoint]:
    """The entry points of a connector, one for each package that brings it."""
    return [point for point in entry_points(group=GROUP) if point.name.lower() == name]


def known_names() -> list[str]:
    """The names of all connectors of outputs."""
    return sorted({*OUTPUTS, *(point.name.lower() for point in entry_points(group=GROUP))})


def only_takes(name: str) -> bool:
    """True for a connector that takes rows and gives none."""
    if name in CONNECTORS:
        return False
    if name in OUTPUTS:
        return True
    return bool(installed(name)) and all(point.name.lower() != name for point in entry_points(group=_SOURCES))
