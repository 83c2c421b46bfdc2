"""The triggers by which a query's changes are shown, each a value that says what is due in a step, and what waits.

The input of a step comes first, then its timers: one that is due exactly now, or was due before, fires once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import Any, Protocol

import pyarrow as pa

from penstock.backends.rows import canonical_row, python_values
from penstock.backends.weighted import Pile, Rows, added_up, parted
from penstock.plan.emission import Content


@dataclass(frozen=True, slots=True)
class Given:
    """A step as a trigger sees it: what has changed, whether rows have come, and which rows nothing can change again.

    With `all_closed` every row is closed: the input has ended, or has been silent for long enough. `time` is how far
    the time of the rows has come, `ends` gives the ends of their windows.
    """

    change: Rows | None
    clock: datetime
    arrived: bool
    closed: Callable[[Rows], pa.Array]
    all_closed: bool = False
    time: datetime | None = None
    ends: Callable[[Rows], list[datetime | None]] = lambda _: []

    def parted(self, rows: Rows | None) -> tuple[Rows | None, Rows | None]:
        """The rows that are closed, and the others."""
        if rows is None or self.all_closed:
            return rows, None
        return parted(rows, self.closed(rows))


@dataclass(frozen=True, slots=True)
class Fired:
    """The rows that are due (None: none), the trigger after the step, and when it wants the next one."""

    due: Rows | None
    then: WaitingTrigger
    timer: datetime | None = None


class WaitingTrigger(Protocol):
    """A trigger and what waits for it."""

    def fired(self, given: Given) -> Fired:
        """The step's outcome."""

    @property
    def holds(self) -> bool:
        """True if rows wait."""

    def left(self) -> Rows | None:
        """The rows that wait, or may be shown again."""


@dataclass(frozen=True, slots=True)
class AtOnce:
    """Each step shows its own change."""

    holds: bool = False

    def left(self) -> None:
        """Nothing waits."""

    def fired(self, given: Given) -> Fired:
        """The change itself."""
        return Fired(given.change, self)


@dataclass(frozen=True, slots=True)
class WhenClosed:
    """A row is shown once nothing can change it."""

    waiting: Pile = field(default_factory=Pile)

    @property
    def holds(self) -> bool:
        """True if rows wait."""
        return not self.waiting.is_empty

    def left(self) -> Rows | None:
        """The rows that are not closed."""
        return self.waiting.rows()

    def fired(self, given: Given) -> Fired:
        """The rows that the step closes."""
        waiting = self.waiting.grown(given.change)
        if not given.all_closed and not waiting.has(given.closed):
            return Fired(None, WhenClosed(waiting))
        due, left = given.parted(waiting.rows())
        return Fired(due, WhenClosed(Pile(left)))


@dataclass(frozen=True, slots=True)
class EachTick:
    """Every so often by the clock: all rows that are not closed, or what has changed since the last time.

    Ticks are counted from `started`; the `next` one is silent unless rows have come since (`fresh`), or it `repeats`.
    """

    every: timedelta
    started: datetime
    content: Content
    repeats: bool = False
    next: datetime | None = None
    fresh: bool = False
    kept: Pile = field(default_factory=Pile)

    @property
    def holds(self) -> bool:
        """True if something has come since the last tick."""
        return self.fresh

    def left(self) -> Rows | None:
        """The rows of the next tick."""
        return self.kept.rows()

    def fired(self, given: Given) -> Fired:
        """The rows of a tick that is due."""
        upcoming = self.next or self.started + self.every
        if upcoming < given.clock and not (self.fresh or self.repeats):
            upcoming = self._first(given.clock)  # those in between had nothing to show
        found = replace(self, next=upcoming, fresh=self.fresh or given.arrived, kept=self.kept.grown(given.change))
        if not (upcoming <= given.clock or given.all_closed) or not (found.fresh or self.repeats):
            return Fired(None, found, upcoming if found.fresh or self.repeats else None)
        return found.shown(given)

    def shown(self, given: Given) -> Fired:
        """A tick: rows that are closed are shown a last time."""
        following, rows = self._first(given.clock + timedelta(microseconds=1)), self.kept.rows()
        left = given.parted(rows)[1] if self.content is Content.FULL else None
        then = replace(self, next=following, fresh=False, kept=Pile(left))
        return Fired(rows, then, following if self.repeats else None)

    def _first(self, clock: datetime) -> datetime:
        """The first tick that is not before a clock."""
        passed = -(-(clock - self.started) // self.every)
        return self.started + max(passed, 1) * self.every


@dataclass(frozen=True, slots=True)
class AfterDelay:
    """The changes of a group within a delay are one; with `when_closed` a closed group does not wait for its end.

    `places` are those of the columns that make the groups; `due` has the clock for each group that waits.
    """

    delay: timedelta
    places: tuple[int, ...]
    when_closed: bool
    due: Mapping[Any, datetime] = field(default_factory=lambda: MappingProxyType({}))
    waiting: Rows | None = None

    @property
    def holds(self) -> bool:
        """True if rows wait."""
        return self.waiting is not None

    def left(self) -> Rows | None:
        """The rows whose delay is not over."""
        return self.waiting

    def fired(self, given: Given) -> Fired:
        """The changes of the groups whose delay is over."""
        due = dict(self.due)
        for group in () if given.change is None else self._groups(given.change):
            due.setdefault(group, given.clock + self.delay)
        waiting = added_up(self.waiting, given.change)
        over = {group for group, at in due.items() if at <= given.clock or given.all_closed}
        if waiting is None:
            return self._after(None, None, due, over)
        groups = self._groups(waiting)
        closed = given.closed(waiting).to_pylist() if self.when_closed else [False] * len(groups)
        over |= {group for group, is_closed in zip(groups, closed, strict=True) if is_closed}
        shown, left = parted(waiting, pa.array([group in over for group in groups], pa.bool_()))
        return self._after(shown, left, due, over)

    def _after(self, shown: Rows | None, left: Rows | None, due: dict[Any, datetime], over: set[Any]) -> Fired:
        still = {group: at for group, at in due.items() if group not in over}
        then = replace(self, due=MappingProxyType(still), waiting=left)
        return Fired(shown, then, min(still.values(), default=None))

    def _groups(self, rows: Rows) -> list[Any]:
        return groups_of(rows, self.places)


def groups_of(rows: Rows, places: tuple[int, ...]) -> list[Any]:
    """The group of each row, hashable; without places all are one."""
    if not places:
        return [()] * rows.num_rows
    return [canonical_row(row) for row in python_values(rows.select(list(places)))]
