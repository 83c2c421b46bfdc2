"""The triggers by which a query's changes are shown, each a value that says what is due in a step, and what waits.

The input of a step comes first, then its timers: one that is due exactly now, or was due before, fires once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.backends.weighted import Pile, Rows, parted
from penstock.emit.groups import Numbers, numbered
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

    `places` are those of the columns that make the groups; `due` has the groups that wait, each with its clock behind.
    """

    delay: timedelta
    places: tuple[int, ...]
    when_closed: bool
    due: pa.Table | None = None
    waiting: Pile = field(default_factory=Pile)

    @property
    def holds(self) -> bool:
        """True if rows wait."""
        return not self.waiting.is_empty

    def left(self) -> Rows | None:
        """The rows whose delay is not over."""
        return self.waiting.rows()

    def fired(self, given: Given) -> Fired:
        """The changes of the groups whose delay is over."""
        due, waiting = self._begun(given), self.waiting.grown(given.change)
        if due is None:
            return Fired(None, replace(self, due=None, waiting=waiting))
        is_over = pc.less_equal(due.column(_DUE), pa.scalar(given.clock, pa.timestamp("us")))
        if not (given.all_closed or self.when_closed or pc.any(is_over).as_py()):
            return self._after(None, waiting, due)
        rows = waiting.rows()
        groups = due.num_rows
        numbers = self._numbered(due, rows)
        over = numbers[:groups][is_over.to_numpy() | given.all_closed]
        if self.when_closed and rows is not None:
            over = np.union1d(over, numbers[groups:][given.closed(rows).to_numpy(zero_copy_only=False)])
        gone = np.isin(numbers, over)
        shown, left = parted(rows, pa.array(gone[groups:]))
        return self._after(shown, Pile(left), due.filter(pa.array(~gone[:groups])))

    def _begun(self, given: Given) -> pa.Table | None:
        """The groups that wait, and those that begin to with a change."""
        if given.change is None or not given.change.num_rows:
            return self.due
        keys = self._keys(given.change)
        known = 0 if self.due is None else self.due.num_rows
        numbers = self._numbered(self.due, given.change)
        new, first = np.unique(numbers[known:], return_index=True)
        added = keys.take(pa.array(np.sort(first[~np.isin(new, numbers[:known])])))
        clock = pa.array([given.clock + self.delay] * added.num_rows, pa.timestamp("us"))
        begun = pa.table([*added.columns, clock], [*added.column_names, _DUE])
        return begun if self.due is None else pa.concat_tables([self.due, begun])

    def _keys(self, rows: Rows) -> pa.Table:
        """The columns that make the groups; a constant where all rows are one."""
        columns = [rows.column(place) for place in self.places] or [pa.array(np.zeros(rows.num_rows, np.int64))]
        return pa.table(columns, [f"key{at}" for at in range(len(columns))])

    def _numbered(self, due: pa.Table | None, rows: Rows | None) -> Numbers:
        """Numbers for the groups that wait and, behind these, for those of rows."""
        present = [] if due is None else [due.drop_columns([_DUE])]
        present += [] if rows is None else [self._keys(rows)]
        whole = pa.concat_tables(present)
        return numbered(whole, range(whole.num_columns))

    def _after(self, shown: Rows | None, waiting: Pile, due: pa.Table) -> Fired:
        then = replace(self, due=due if due.num_rows else None, waiting=waiting)
        return Fired(shown, then, pc.min(due.column(_DUE)).as_py())


_DUE = "__due"
