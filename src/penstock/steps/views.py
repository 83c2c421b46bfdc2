"""The memory of the views between steps: their content where it is kept, and what waits to be shown."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from penstock.analysis.derived import Derived
from penstock.backends.spark.change import Delta
from penstock.backends.spark.workspace import Workspace
from penstock.catalog.model import Catalog, View
from penstock.emit.api import Emission
from penstock.steps.layers import Layers

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(frozen=True, slots=True)
class Shown:
    """The changes of the views that show anything in a step, the emissions after it, and when they want a step."""

    changes: Mapping[str, Delta]
    emissions: Mapping[str, Emission]
    timers: Mapping[str, datetime]


class Views:
    """The memory of each view that is maintained; it follows committed steps alone. Names are in lower case."""

    def __init__(self, workspace: Workspace, retain: str) -> None:
        self._workspace = workspace
        self._retain = retain
        self._contents: dict[str, Layers] = {}
        self._emissions: dict[str, Emission] = {}
        self._timers: dict[str, datetime] = {}
        self._without_step: set[str] = set()

    def install(self, emissions: Mapping[str, Emission]) -> None:
        """Take in views that are maintained from the next step on."""
        self._emissions |= emissions
        self._without_step |= set(emissions)

    def remove(self, name: str) -> None:
        """Forget a view."""
        for memory in (self._contents, self._emissions, self._timers):
            memory.pop(name, None)
        self._without_step.discard(name)

    def shown(
        self, changes: Mapping[str, Delta], values: Callable[[Sequence[Derived]], list[Any]], clock: datetime
    ) -> Shown:
        """A step's changes as the emissions show them; `values` evaluates waterlines. Nothing changes yet."""
        waterlines = iter(values([item for emission in self._emissions.values() for item in emission.goes_by]))
        found: dict[str, Delta] = {}
        after: dict[str, Emission] = {}
        timers: dict[str, datetime] = {}
        for name, emission in self._emissions.items():
            emitted = emission.after(changes.get(name), [next(waterlines) for _ in emission.goes_by], clock)
            after[name] = emitted.then
            if emitted.shown is not None:
                found[name] = emitted.shown
            if emitted.timer is not None:
                timers[name] = emitted.timer
        return Shown(found, after, timers)

    def follow(self, changes: Mapping[str, Delta], shown: Shown, catalog: Catalog) -> None:
        """Remember what a committed step has changed, and what waits after it."""
        for name, delta in changes.items():
            if self.keeps(catalog.views[name]):
                self._contents.setdefault(name, Layers(self._workspace)).add(delta)
        self._emissions, self._timers = dict(shown.emissions), dict(shown.timers)
        self._without_step.clear()

    def keeps(self, view: View) -> bool:
        """True if the content of a view is kept."""
        return self._retain == "all" or view.kind == "materialized" or bool(view.lateness)

    @property
    def next_timer(self) -> datetime | None:
        """The clock at which an emission wants a step, even if nothing comes in; None if none does."""
        return min(self._timers.values(), default=None)

    def has_stepped(self, name: str) -> bool:
        """True if a view has had a step."""
        return name not in self._without_step

    def weighted(self, name: str) -> DataFrame | None:
        """The changes of a view so far, not added up; None if there were none, or they are not kept."""
        content = self._contents.get(name)
        return None if content is None else content.weighted()
