"""The positions in the sources of tables, as the steps so far say."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from penstock.sources.position import BROKEN, IDENTITY

OF_A_RANGE = ("from", "to", "head", "file", IDENTITY, BROKEN)  # what differs from one range of a stream to the next


class SourcePositions:
    """For each table, in lower case, the last range that was read of each stream of its source."""

    def __init__(self, known: Mapping[str, Iterable[Mapping[str, Any]]] | None = None) -> None:
        self._taken: dict[str, dict[str, Mapping[str, Any]]] = {}
        for name, items in (known or {}).items():
            for taken in items:
                self.add({name: taken})

    def add(self, sources: Mapping[str, Any]) -> None:
        """Go on behind what a step has taken of each table's source."""
        for name, taken in sources.items():
            found = self._taken.setdefault(name.lower(), {})
            for key, item in _streams(taken):
                found.pop(key, None)  # the latest comes last: a stream that has got another name is found by this one
                found[key] = item

    def of(self, table: str) -> list[Mapping[str, Any]]:
        """The ranges of a table's source, the latest last, each as `TableSource.skip` takes it."""
        return list(self._taken.get(table.lower(), {}).values())

    def forget(self, table: str) -> None:
        """A table has gone."""
        self._taken.pop(table.lower(), None)

    def to_json(self) -> dict[str, list[Mapping[str, Any]]]:
        """As a snapshot has it."""
        return {name: list(items.values()) for name, items in self._taken.items()}


def _streams(taken: Mapping[str, Any]) -> Iterable[tuple[str, Mapping[str, Any]]]:
    """The ranges that were taken, stream by stream; in one piece where the source does not tell of streams."""
    for item in taken.get("read", ()):
        yield json.dumps(_stream(item), sort_keys=True, default=str), {**taken, "read": [item]}
    if "read" not in taken:
        yield json.dumps(taken, sort_keys=True, default=str), taken


def _stream(item: Mapping[str, Any]) -> dict[str, Any]:
    """The facts that stay the same: a file may be renamed, and one of older manifests is called by its path."""
    stream = {name: value for name, value in item.items() if name not in OF_A_RANGE}
    if "head" in item:
        stream["file"] = item.get("file", item["path"])
        del stream["path"]
    return stream
