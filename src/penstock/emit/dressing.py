"""The rows of a query as they are shown: content, order, limits, and columns that tell about the emission."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from decimal import Context, Decimal, localcontext
from types import MappingProxyType
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.backends.rows import canonical, python_values
from penstock.backends.weighted import Rows, inserted, weighted
from penstock.catalog.reserved import WEIGHT
from penstock.emit.groups import Numbers, groups_of, numbered
from penstock.plan.emission import Content, Row
from penstock.plan.showing import KIND, PTIME, STATE, UNDO, VER, Ordering, Showing

_DIGITS = 40  # more than a DECIMAL has
_NOTHING: Mapping[Any, int] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Counts:
    """The counts over the life of a query.

    `shown` are its rows, as many as LIMIT says where it has ended, `emissions` what emit_version() numbers, of each
    substream for itself; `versions` has the changes of each group, and `of_values` the rows of each value of
    LIMIT … BY.
    """

    shown: int = 0
    emissions: Mapping[Any, int] = field(default_factory=lambda: _NOTHING)
    versions: Mapping[Any, int] = field(default_factory=lambda: _NOTHING)
    of_values: Mapping[Any, int] = field(default_factory=lambda: _NOTHING)


@dataclass(frozen=True, slots=True)
class Dressing:
    """Makes what is due what is shown."""

    showing: Showing
    counts: Counts = field(default_factory=Counts)

    @property
    def has_finished(self) -> bool:
        """True if as many rows have been shown as LIMIT says."""
        return self.showing.limit is not None and self.counts.shown >= self.showing.limit

    def shown(self, due: Rows | None, clock: datetime) -> tuple[Rows | None, Dressing]:
        """The rows that are shown, with a weight above zero, and what has been counted after them."""
        rows = self._of_content(due)
        if rows is None or not rows.num_rows or self.has_finished:
            return None, self
        rows = rows.take(pa.array(self._order(rows), pa.int64()))
        rows, counts = self._limited(rows)
        if not rows.num_rows:
            return None, replace(self, counts=counts)
        rows, counts = self._told(rows, counts, clock)
        return rows, replace(self, counts=counts)

    @property
    def counted(self) -> tuple[int, ...]:
        """The places of what `ver` counts by: windows, those of each substream for themselves."""
        windows = self.showing.windows
        return (*windows, *self.showing.partition) if windows else ()

    def without_closed(self, is_over: Callable[[Any], bool], waiting: Callable[[], Rows | None]) -> Dressing:
        """The same without what is counted of windows that are over.

        Windows of rows that are `waiting` will be shown again.
        """
        gone = [group for group in self.counts.versions if is_over(group)]
        if not gone:
            return self
        rows = waiting()
        over = set(gone) - set(() if rows is None else groups_of(rows, self.counted))
        left = {group: count for group, count in self.counts.versions.items() if group not in over}
        return replace(self, counts=replace(self.counts, versions=MappingProxyType(left)))

    def _of_content(self, due: Rows | None) -> Rows | None:
        if self.showing.content is Content.CHANGES:
            return due
        if self.showing.content is Content.DELTA:
            return None if due is None else differences(due, self.showing)
        return inserted(due)

    # Order and limits

    def _order(self, rows: Rows) -> list[int]:
        """The places of the rows as they are shown: by ORDER BY; else by their groups, old before new.

        Groups lie in no order. Where `ver` counts all of them together they are taken by their values, so that a step
        which is made again counts as it did. Rows that have no groups are one: what goes, then what comes.
        """
        if self.showing.order:
            return ordered_places(rows, self.showing.order)
        if self.showing.content is not Content.CHANGES:
            return list(range(rows.num_rows))
        comes = _come(rows)
        if not (self.showing.groups or self.showing.windows):
            return [*np.flatnonzero(~comes).tolist(), *np.flatnonzero(comes).tolist()]
        _, first, number = np.unique(self._groups(rows), return_index=True, return_inverse=True)
        if self.showing.stamped and self.showing.groups:
            first = _ranks(rows.take(pa.array(first)).select(list(self.showing.groups)))
        found: list[int] = np.lexsort((comes, first[number])).tolist()
        return found

    def _groups(self, rows: Rows) -> Numbers:
        """The groups of the rows, as numbers."""
        if self.showing.single:
            return np.zeros(rows.num_rows, np.int64)
        return numbered(rows, self.showing.groups or self.showing.windows or tuple(range(rows.num_columns - 1)))

    def _limited(self, rows: Rows) -> tuple[Rows, Counts]:
        showing, counts = self.showing, self.counts
        if showing.limit_each is not None:
            seen, values = Counter(counts.of_values), groups_of(rows, showing.limit_by)
            left = self._without_halves(rows, list(_each(values, _weights(rows), seen, showing.limit_each)))
            for value, weight, before in zip(values, left, _weights(rows), strict=True):
                if weight != before:  # what comes later would be told of a row that was not shown
                    seen[value] = max(seen[value], showing.limit_each)
            rows, counts = weighted(rows, left), replace(counts, of_values=MappingProxyType(dict(seen)))
        if showing.limit is not None:
            left = self._without_halves(rows, list(_first(_weights(rows), showing.limit - counts.shown)))
            ends = left != _weights(rows)
            rows = weighted(rows, left)
            counts = replace(counts, shown=showing.limit if ends else counts.shown + _total(rows))
        return rows.filter(pc.not_equal(rows.column(WEIGHT), 0)), counts

    def _without_halves(self, rows: Rows, left: list[int]) -> list[int]:
        """The weights that limits leave, but none of an update of which they leave a part: that would be a deletion."""
        if self.showing.content is not Content.CHANGES:
            return left
        groups, cut = self._groups(rows), np.array(left) != np.array(_weights(rows))
        halves = self._updates(rows) & np.isin(groups, groups[cut])
        found: list[int] = np.where(halves, 0, left).tolist()
        return found

    # The columns that tell about the emission

    def _told(self, rows: Rows, counts: Counts, clock: datetime) -> tuple[Rows, Counts]:
        showing, columns = self.showing, list(rows.columns)[: self.showing.visible]
        names = list(showing.names)
        weights = _weights(rows)
        if showing.version is not None:
            numbers, counts = self._emission_numbers(rows, counts)
            columns[showing.version] = _column(numbers)
        if showing.stated:
            columns, names = [*columns, rows.column(rows.num_columns - 2)], [*names, STATE]
        told = showing.stamped or showing.marked or showing.delta is not None
        if showing.delta is not None:
            kind = rows.schema.field(showing.delta).type
            columns[showing.delta] = pa.chunked_array([pa.array([1 if weight > 0 else -1 for weight in weights], kind)])
        if showing.stamped:
            numbers, counts = self._versions(rows, counts)
            undo = ["undo" if weight < 0 else "" for weight in weights]
            columns += [_column(undo), _column([clock] * len(weights), pa.timestamp("us", "UTC")), _column(numbers)]
            names = [*names, UNDO, PTIME, VER]
        if showing.marked:
            columns, names = [_column(self._kinds(rows)), *columns], [KIND, *names]
        shown = pa.table([*columns, _column([abs(item) if told else item for item in weights])], [*names, WEIGHT])
        return shown, counts

    def _emission_numbers(self, rows: Rows, counts: Counts) -> tuple[list[int], Counts]:
        """Numbers of emissions, in each substream: one for all rows of a step, or for each window of it.

        PER EVENT one for each row.
        """
        each = isinstance(self.showing.trigger, Row)
        groups = list(range(rows.num_rows)) if each else groups_of(rows, self.showing.windows)
        streams = groups_of(rows, self.showing.partition)
        emissions, numbers = dict(counts.emissions), dict[Any, int]()
        for stream, group in zip(streams, groups, strict=True):
            if (stream, group) not in numbers:
                numbers[stream, group] = emissions.get(stream, 0)
                emissions[stream] = numbers[stream, group] + 1
        found = [numbers[key] for key in zip(streams, groups, strict=True)]
        return found, replace(counts, emissions=MappingProxyType(emissions))

    def _versions(self, rows: Rows, counts: Counts) -> tuple[list[int], Counts]:
        """The number of changes of a row's window in its substream, or of the whole result, shown before it."""
        versions = dict(counts.versions)
        numbers = []
        for group in groups_of(rows, self.counted):
            numbers.append(versions.get(group, 0))
            versions[group] = numbers[-1] + 1
        return numbers, replace(counts, versions=MappingProxyType(versions))

    def _kinds(self, rows: Rows) -> list[str]:
        """+I, -U, +U or -D: an update is a row that goes and one that comes, of one group."""
        both, comes = self._updates(rows), _come(rows)
        found: list[str] = np.select([both & comes, both, comes], ["+U", "-U", "+I"], "-D").tolist()
        return found

    def _updates(self, rows: Rows) -> Numbers:
        """True for the rows of a group of which rows go and rows come."""
        groups, comes = self._groups(rows), _come(rows)
        found: Numbers = np.isin(groups, groups[comes]) & np.isin(groups, groups[~comes])
        return found


def _ranks(groups: Rows) -> Numbers:
    """The place of each group among all, by its values; by their text where values of the type have no order here."""
    rows = python_values(groups)
    columns = [_sortable(values) for values in zip(*rows, strict=True)]
    order = sorted(range(len(rows)), key=lambda at: [column[at] for column in columns])
    return np.argsort(np.array(order, np.int64))


def _sortable(values: Sequence[Any]) -> list[tuple[int, Any]]:
    """The values of any column as what sorts."""
    plain = all(value is None or isinstance(value, (bool, int, float, str, bytes, date, Decimal)) for value in values)
    found = [value if plain or value is None else repr(canonical(value)) for value in values]
    return _ranked(found)


def _come(rows: Rows) -> Numbers:
    """True for the rows that come, false for those that are taken back."""
    found: Numbers = rows.column(WEIGHT).to_numpy() > 0
    return found


def _weights(rows: Rows) -> list[int]:
    found: list[int] = rows.column(WEIGHT).to_pylist()
    return found


def _total(rows: Rows) -> int:
    return int(pc.sum(pc.abs(rows.column(WEIGHT))).as_py() or 0)


def _column(values: Sequence[Any], kind: pa.DataType | None = None) -> pa.ChunkedArray:
    return pa.chunked_array([pa.array(values, kind)])


def _each(groups: list[Any], weights: list[int], seen: Counter[Any], limit: int) -> Iterator[int]:
    """The weights, no value of LIMIT … BY having more rows than it says."""
    for group, weight in zip(groups, weights, strict=True):
        left = max(limit - seen[group], 0)
        seen[group] += abs(weight)
        yield max(min(weight, left), -left)


def _first(weights: list[int], left: int) -> Iterator[int]:
    """The weights of the first so many rows."""
    for weight in weights:
        yield max(min(weight, left), -left)
        left = max(left - abs(weight), 0)


def ordered_places(rows: Rows, order: Sequence[Ordering]) -> list[int]:
    """The places of the rows in an order; equal ones stay as they are."""
    places = list(range(rows.num_rows))
    for item in reversed(order):
        (values,) = zip(*python_values(rows.select([item.place])), strict=True) if rows.num_rows else ((),)
        keyed = _ranked(values)
        places.sort(key=lambda place, keyed=keyed: keyed[place], reverse=item.descending)  # type: ignore[misc]
        if any(value is None for value in values):
            places.sort(key=lambda place, values=values: (values[place] is None) != item.nulls_first)  # type: ignore[misc]
    return places


def _ranked(values: Iterable[Any]) -> list[tuple[int, Any]]:
    """Values that have an order as what sorts: NULL first, NaN last."""
    return [(_rank(value), value if _rank(value) == 1 else 0) for value in values]


def _rank(value: Any) -> int:
    """NaN is above all numbers, as in Spark."""
    return 0 if value is None else 2 if isinstance(value, float) and value != value else 1  # noqa: PLR0124 - NaN


def differences(due: Rows, showing: Showing) -> Rows | None:
    """By how much each group's values have changed: numbers less what they were, all else as it is now."""
    names, kinds = due.column_names, due.schema.types
    counted = [
        place
        for place, kind in enumerate(kinds[:-1])
        if place not in showing.groups
        and (pa.types.is_integer(kind) or pa.types.is_floating(kind) or _is_decimal(kind))
    ]
    before: dict[Any, tuple[Any, ...]] = {}
    after: dict[Any, tuple[Any, ...]] = {}
    for group, row in zip(groups_of(due, showing.groups), python_values(due), strict=True):
        (after if row[-1] > 0 else before)[group] = row
    with localcontext(Context(prec=_DIGITS)):
        rows = [_difference(before.get(group), row, counted) for group, row in after.items()]
    if not rows:
        return None
    columns = [pa.array(values, kind) for values, kind in zip(zip(*rows, strict=True), kinds, strict=True)]
    return pa.table(columns, names)


def _is_decimal(kind: pa.DataType) -> bool:
    return bool(pa.types.is_decimal(kind))


def _difference(old: tuple[Any, ...] | None, new: tuple[Any, ...], counted: Sequence[int]) -> tuple[Any, ...]:
    if old is None:
        return new
    values = list(new)
    for place in counted:
        if old[place] is not None and new[place] is not None:
            values[place] = new[place] - old[place]
    return tuple(values)
