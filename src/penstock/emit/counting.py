"""Results that are shown after so many rows: `update_rate = 'count(100)'`.

A step brings a group the rows by which its number of rows has changed, and at least one if it changes the group at all.
Rows that are not grouped make one result together, and each that comes or goes counts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

import pyarrow as pa

from penstock.backends.weighted import Pile, Rows, added_up, parted
from penstock.catalog.reserved import WEIGHT
from penstock.emit.groups import groups_of
from penstock.emit.triggers import Fired, Given


@dataclass(frozen=True, slots=True)
class Tally:
    """The rows that have come for each group since it was last shown; `enough` are so many.

    `counter` is the place of a group's number of rows. Without one, groups are none.
    """

    enough: int
    places: tuple[int, ...]
    counter: int | None
    counts: Mapping[Any, int] = field(default_factory=lambda: MappingProxyType({}))

    def groups(self, rows: Rows | None) -> list[Any]:
        """The group of each row."""
        return [] if rows is None else groups_of(rows, () if self.counter is None else self.places)

    def grown(self, change: Rows | None) -> Tally:
        """The same after a change."""
        if change is None:
            return self
        weights = change.column(WEIGHT).to_pylist()
        numbers = [1] * len(weights) if self.counter is None else change.column(self.counter).to_pylist()
        found: Counter[Any] = Counter()
        for group, weight, number in zip(self.groups(change), weights, numbers, strict=True):
            found[group] += abs(weight) if self.counter is None else weight * number
        added = {group: self.counts.get(group, 0) + max(1, abs(rows)) for group, rows in found.items()}
        return replace(self, counts=MappingProxyType({**self.counts, **added}))

    @property
    def has_enough(self) -> bool:
        """True if a group has reached its number."""
        return any(count >= self.enough for count in self.counts.values())

    def reached(self, rows: Rows | None) -> list[bool]:
        """True for the rows of groups for which enough have come."""
        due = {group for group, count in self.counts.items() if count >= self.enough}
        return [group in due for group in self.groups(rows)]

    def of(self, waiting: Rows | None) -> Tally:
        """The same of the groups that still wait."""
        left = {*self.groups(waiting)}
        counts = {group: rows for group, rows in self.counts.items() if group in left}
        return replace(self, counts=MappingProxyType(counts))

    def without_number(self, rows: Rows | None) -> Rows | None:
        """Rows as they are shown: those that differ by their number of rows alone are one."""
        if rows is None or self.counter is None:
            return rows
        name = rows.schema.field(self.counter)
        return added_up(None, rows.set_column(self.counter, name, pa.array([0] * rows.num_rows, name.type)))


@dataclass(frozen=True, slots=True)
class AfterRows:
    """The changes of a group until so many rows have come for it are one."""

    tally: Tally
    waiting: Pile = field(default_factory=Pile)

    @property
    def holds(self) -> bool:
        """True if rows wait."""
        return not self.waiting.is_empty

    def left(self) -> Rows | None:
        """The rows that wait."""
        return self.waiting.rows()

    def fired(self, given: Given) -> Fired:
        """The changes of the groups that enough rows have come for."""
        tally, waiting = self.tally.grown(given.change), self.waiting.grown(given.change)
        if not tally.has_enough and not given.all_closed:
            return Fired(None, AfterRows(tally, waiting))
        rows = waiting.rows()
        shown, left = parted(rows, pa.array([given.all_closed or enough for enough in tally.reached(rows)], pa.bool_()))
        return Fired(tally.without_number(shown), AfterRows(tally.of(left), Pile(left)))
