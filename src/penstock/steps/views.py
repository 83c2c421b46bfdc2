"""The memory of the views between steps: their content where it is kept, and what waits to be shown."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from types import MappingProxyType
from typing import Any

import pyarrow as pa

from penstock.analysis.derived import Derived
from penstock.backends.api import Content, Delta, Relation
from penstock.catalog.model import INTO, Catalog, View
from penstock.emit.api import Emission, Emitted, Moment, Promise
from penstock.emit.standing import Standing
from penstock.engine.engine import Engine
from penstock.engine.view_content import ViewContent

Values = Callable[[Sequence[Derived]], list[Any]]
_NONE: Mapping[str, Emitted] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Shown:
    """The changes of the views that show anything in a step, the emissions after it, and when they want a step."""

    changes: Mapping[str, Delta]
    emissions: Mapping[str, Emission]
    timers: Mapping[str, datetime]
    promises: Sequence[Promise] = ()
    finished: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class HeldViews:
    """The memory of the views at one moment."""

    contents: Mapping[str, Content]
    emissions: Mapping[str, Emission]
    timers: Mapping[str, datetime]
    without_step: frozenset[str]


class Views:
    """The memory of each view that is maintained; it follows committed steps alone. Names are in lower case."""

    def __init__(self, engine: Engine, retain: str) -> None:
        self._engine = engine
        self._retain = retain
        self._contents: dict[str, Content] = {}
        self._proposed: dict[str, Content] = {}  # of the step under way
        self._emissions: dict[str, Emission] = {}
        self._timers: dict[str, datetime] = {}
        self._without_step: set[str] = set()
        self._parting: list[Content] | None = None  # what goes, while it may still have to come back
        self._filled: dict[str, Content] = {}  # the contents of views that were filled before the next step

    def install(self, emissions: Mapping[str, Emission], filled: Mapping[str, Content] = MappingProxyType({})) -> None:
        """Take in views that are maintained from the next step on; some are `filled` up to it."""
        self._emissions |= emissions
        self._filled = dict(filled)
        self._without_step |= set(emissions)

    def remove(self, name: str) -> None:
        """Forget a view."""
        content = self._contents.pop(name, None)
        if content is not None and self._parting is not None:
            self._parting.append(content)
        elif content is not None:
            content.drop()
        for memory in (self._emissions, self._timers):
            memory.pop(name, None)
        self._without_step.discard(name)

    @property
    def timers(self) -> Mapping[str, datetime]:
        """The clocks at which emissions want a step, by view."""
        return self._timers

    def held(self) -> HeldViews:
        """The memory of the views as it is now, to which `restore` goes back."""
        self._parting = []
        return HeldViews(dict(self._contents), dict(self._emissions), dict(self._timers), frozenset(self._without_step))

    def restore(self, held: HeldViews) -> None:
        """Remember again what was held."""
        self.discard()
        self._drop_filled(self._filled)
        self._parting = None
        self._contents, self._emissions = dict(held.contents), dict(held.emissions)
        self._timers, self._without_step = dict(held.timers), set(held.without_step)

    def let_go(self) -> None:
        """Give back what has gone for good."""
        parting, self._parting = self._parting or [], None
        for content in parting:
            content.drop()

    def emitted(self, name: str, change: Delta | None, values: Values, moment: Moment) -> Emitted:
        """One view's change as its emission shows it; `values` evaluates waterlines. Nothing changes yet."""
        emission = self._emissions[name]
        return emission.after(change, replace(moment, waterlines=values(emission.goes_by)))

    def shown(
        self, changes: Mapping[str, Delta], values: Values, moment: Moment, known: Mapping[str, Emitted] = _NONE
    ) -> Shown:
        """A step's changes as the emissions show them, which are `known` of some views. Nothing changes yet."""
        asked = {name: emission for name, emission in self._emissions.items() if name not in known}
        waterlines = iter(values([item for emission in asked.values() for item in emission.goes_by]))
        found: dict[str, Delta] = {}
        after: dict[str, Emission] = {}
        timers: dict[str, datetime] = {}
        promises: list[Promise] = []
        finished: list[str] = []
        for name, emission in self._emissions.items():
            if name in known:
                emitted = known[name]
            else:
                own = replace(moment, waterlines=[next(waterlines) for _ in emission.goes_by])
                emitted = emission.after(changes.get(name), own)
            after[name] = emitted.then
            promises += emitted.promises
            finished += [name] if emitted.finished else []
            if emitted.shown is not None and name not in known:
                found[name] = self._delta(emitted.shown)
            if emitted.timer is not None:
                timers[name] = emitted.timer
        return Shown(found, after, timers, promises, finished)

    def _delta(self, shown: Delta | pa.Table) -> Delta:
        return self._engine.change(shown) if isinstance(shown, pa.Table) else shown

    def propose(self, changes: Mapping[str, Delta], catalog: Catalog) -> None:
        """Add to the contents what a step changes, as a part of it: it may still fail."""
        self.discard()
        for name, delta in changes.items():
            view = catalog.views[name]
            if self.keeps(view) and name in self._filled:
                self._proposed[name] = self._filled[name]  # which has the change
            elif self.keeps(view):
                self._proposed[name] = self._contents.get(name) or self._new_content(view, delta)
                self._proposed[name].propose(delta)

    def _new_content(self, view: View, delta: Delta) -> Content:
        # A text that Spark gives need not be UTF-8, so what Spark gives does not enter the process.
        from_process = delta.native is not None or not any(item.needs_spark for item in self._engine.installed)
        return self._engine.new_content(view, in_process=from_process)

    def discard(self) -> None:
        """Forget what was proposed."""
        for content in self._proposed.values():
            content.discard()
        self._proposed = {}

    def maintain(self) -> None:
        """Between steps: have contents take as little room as they need, where that is due."""
        for content in self._contents.values():
            content.maintain()

    def follow(self, shown: Shown) -> None:
        """Remember what a committed step has changed, and what waits after it."""
        for content in self._proposed.values():
            content.commit()
        self._contents |= self._proposed
        self._drop_filled(self._filled.keys() - self._proposed.keys())
        self._proposed = {}
        self._emissions, self._timers = dict(shown.emissions), dict(shown.timers)
        self._without_step.clear()

    def _drop_filled(self, names: Iterable[str]) -> None:
        """Give up those contents of filled views that nobody keeps."""
        for name in list(names):
            self._filled[name].drop()
        self._filled = {}

    def keeps(self, view: View) -> bool:
        """True if the content of a view is kept."""
        if view.is_hidden or (view.kind == INTO and not view.lateness):
            return False
        return self._retain == "all" or view.kind == "materialized" or bool(view.lateness)

    @property
    def waits(self) -> bool:
        """True if the end of the input would show something more."""
        return any(emission.waits for emission in self._emissions.values())

    def remembered(self) -> tuple[Any, ...]:
        """All that is remembered between steps: for a snapshot."""
        return self._contents, self._emissions, self._timers, self._without_step

    def take_over(self, found: tuple[Any, ...]) -> None:
        """Remember what a snapshot has."""
        self._contents, self._emissions, self._timers, self._without_step = found

    def has_finished(self, name: str) -> bool:
        """True if an emission has shown all that it may."""
        emission = self._emissions.get(name)
        return isinstance(emission, Standing) and emission.dressing.has_finished

    @property
    def next_timer(self) -> datetime | None:
        """The clock at which an emission wants a step, even if nothing comes in; None if none does."""
        return min(self._timers.values(), default=None)

    def has_stepped(self, name: str) -> bool:
        """True if a view has had a step."""
        return name not in self._without_step

    def has_changed(self, name: str) -> bool:
        """True if there is a content of a view, which its first change has made."""
        return name in self._contents

    def weighted(self, name: str) -> Relation | None:
        """The changes of a view so far, not added up; None if there were none, or they are not kept."""
        content = self._contents.get(name)
        return None if content is None else content.weighted()

    def pieces(self, name: str) -> Iterator[pa.Table]:
        """The changes of a view so far in Arrow; NotProvenError if some lie on the executors."""
        content = self._contents.get(name)
        return iter(() if content is None else (content.arrow(),))

    def relation(self, name: str) -> str | None:
        """The content of a view as FROM takes it in the process; None where it does not lie there."""
        content = self._contents.get(name)
        return None if content is None else content.relation

    def looked_up(self, name: str, keys: pa.Table) -> pa.Table | None:
        """The rows of a view with one of some keys; None where its content does not lie in the process."""
        content = self._contents.get(name)
        return content.looked_up(keys) if isinstance(content, ViewContent) else None

    def is_kept_elsewhere(self, name: str) -> bool:
        """True if the content of a view is kept, but not in the process."""
        return name in self._contents and self.relation(name) is None
