"""The report of `run` on rows that did not make it into their table: the first reasons, and how many in the end."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from penstock.catalog.model import ERROR_VIEW
from penstock.steps.rows.rejected import EVALUATION

if TYPE_CHECKING:
    from penstock.steps.change import Change

_FIRST = 3
_SHOWN = 400


class RejectionReport:
    """An output that tells of the changes of `error_view`, by table and kind of reason."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say
        self._counts: Counter[tuple[str, str]] = Counter()
        self._errors: Counter[str] = Counter()
        self._told = False

    def write(self, changes: Mapping[str, Change]) -> None:
        """Say the first reasons of each table and kind."""
        change = changes.get(ERROR_VIEW.name)
        if change is None or change.delta is None:
            return
        alike: dict[tuple[str, str], list[str]] = {}
        for _, (relation, kind, reason) in change.rows:
            self._counts[relation, kind] += 1
            if kind == EVALUATION:
                alike.setdefault((relation, _parts(reason).get("error", "")), []).append(reason)
            elif self._counts[relation, kind] <= _FIRST:
                self._say(f"rejected from {relation}: {kind}: {_short(_told(reason))}")
        self._say_alike(alike)

    def _say_alike(self, alike: Mapping[tuple[str, str], Sequence[str]]) -> None:
        """Say each error of a step once, with how many rows have it and where the first of them are."""
        for (relation, error), reasons in alike.items():
            self._errors[relation] += 1
            if self._errors[relation] <= _FIRST:
                places = [str(found["place"]) for found in map(_parts, reasons[:_FIRST]) if "place" in found]
                more = ", …" if len(reasons) > _FIRST else ""
                count = f"{len(reasons):,} row{'' if len(reasons) == 1 else 's'}"
                where = f" ({', '.join(places)}{more})" if places else ""
                self._say(f"rejected for view {relation}: {EVALUATION}: {count}{where}: {_short(error)}")

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
    found = _parts(reason)
    parts = [str(found[name]) for name in ("place", "error") if found.get(name)]
    return ": ".join(parts) if "error" in found else reason


def _parts(reason: str) -> Mapping[str, Any]:
    found = json.loads(reason) if reason.startswith('{"') else {}
    return found if isinstance(found, dict) else {}


def _short(reason: str) -> str:
    flat = " ".join(reason.split())
    return flat if len(flat) <= _SHOWN else flat[: _SHOWN - 1] + "…"
