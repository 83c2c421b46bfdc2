"""The report of `run` on rows that did not make it into their table: the first reasons, and how many in the end."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from penstock.catalog.model import ERROR_VIEW

if TYPE_CHECKING:
    from penstock.steps.change import Change

_FIRST = 3
_SHOWN = 400


class RejectionReport:
    """An output that tells of the changes of `error_view`, by table and kind of reason."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say
        self._counts: Counter[tuple[str, str]] = Counter()
        self._told = False

    def write(self, changes: Mapping[str, Change]) -> None:
        """Say the first reasons of each table and kind."""
        change = changes.get(ERROR_VIEW.name)
        if change is None or change.delta is None:
            return
        for _, (relation, kind, reason) in change.rows:
            self._counts[relation, kind] += 1
            if self._counts[relation, kind] <= _FIRST:
                self._say(f"rejected from {relation}: {kind}: {_short(_told(reason))}")

    def close(self) -> None:
        """Say for each table how many there were."""
        if self._told:
            return
        self._told = True
        for relation in dict.fromkeys(name for name, _ in self._counts):
            kinds = {kind: count for (name, kind), count in self._counts.items() if name == relation}
            parts = ", ".join(f"{count:,} {kind}" for kind, count in kinds.items())
            total = sum(kinds.values())
            self._say(f"{relation}: {total:,} row{'' if total == 1 else 's'} rejected ({parts}); error_view has them")

    def describe(self) -> str:
        """The output as its user names it."""
        return "stderr"


def _told(reason: str) -> str:
    """The place and what is wrong there; a late row is itself."""
    found = json.loads(reason) if reason.startswith('{"') else {}
    parts = [str(found[name]) for name in ("place", "error") if found.get(name)]
    return ": ".join(parts) if "error" in found else reason


def _short(reason: str) -> str:
    flat = " ".join(reason.split())
    return flat if len(flat) <= _SHOWN else flat[: _SHOWN - 1] + "…"
