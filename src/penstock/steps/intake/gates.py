"""LATENESS of a view's columns: which rows of its change are late (B3).

The rules are those of a table without a key: the waterlines read every row of the view's consolidated change,
insertions and deletions alike, and late deletions are dropped as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from penstock.analysis.changelog import append_only
from penstock.analysis.declarations import late_view_columns
from penstock.backends.api import Delta
from penstock.backends.columns import python_rows
from penstock.backends.gates import Gate, Parted
from penstock.backends.waterlines import below
from penstock.catalog.model import ERROR_VIEW, Catalog, View
from penstock.plan.showing import OwnWaterline
from penstock.steps.intake.fold import impossible
from penstock.steps.intake.keyed_gate import keyed_gate
from penstock.steps.intake.lateness import LateColumn, TableLateness, comparable_value, furthest, late_column
from penstock.steps.intake.remembering_gate import remembering_gate
from penstock.steps.intake.session_gate import session_gate
from penstock.steps.rows.rejected import LATE, Rejections, row_json


@dataclass(frozen=True)
class ViewGate:
    """The LATENESS columns of one view and what they have seen; `clock` gives the step's clock, for AHEAD."""

    view: str
    lateness: TableLateness
    clock: Callable[[], datetime]

    def parted(self, delta: Delta) -> Parted:
        """The change without its late rows."""
        delta = delta.lasting()
        if delta.on_driver or any(
            item.column.lateness.age is not None for item in self.lateness.columns if item.column.lateness
        ):
            return self._parted_here(delta)
        return self._parted_there(delta)

    def line(self, key: object) -> None:
        """Keys have no waterlines of their own here."""
        del key

    def seen(self, own: OwnWaterline) -> Any:
        """The greatest time that has come."""
        found = self.lateness.waterlines.get(own.column.lower())
        return None if found is None else found.seen

    def closed(self, own: OwnWaterline) -> ViewGate:
        """The filter for which all windows that have rows are over."""
        found = self.lateness.waterlines.get(own.column.lower())
        if found is None or found.seen is None:
            return self
        return replace(self, lateness=self.lateness.advanced(own.column, own.end_after(found.seen)))

    def _parted_here(self, delta: Delta) -> Parted:
        whole = delta.arrow()
        rows = self._young(whole)
        broken = [found for item in self.lateness.columns for found in self._impossible(item, rows)]
        possible = rows if not broken else _without(rows, [mask for _, mask in broken])
        values = {_name(item): furthest(item, possible.column(item.place)) for item in self.lateness.columns}
        found = broken + [(LATE, mask) for item in self.lateness.columns for mask in self._late(item, rows)]
        after = replace(self, lateness=self.lateness.moved(values))
        passed = rows if not found else _without(rows, [mask for _, mask in found])
        kept = delta if passed.num_rows == whole.num_rows else delta.replaced(passed)
        return Parted(kept, self._reported(rows, found), after)

    def _impossible(self, item: LateColumn, rows: pa.Table) -> Iterator[tuple[str, pa.ChunkedArray]]:
        for message, mask in impossible(item, rows.column(item.place), self.clock()):
            if pc.any(mask).as_py():
                yield message, mask

    def _late(self, item: LateColumn, rows: pa.Table) -> Iterator[pa.ChunkedArray]:
        limit = item.limit(self.lateness.waterline(item))
        mask = None if limit is None else below(rows.column(item.place), limit)
        if mask is not None and pc.any(mask).as_py():
            yield mask

    def _young(self, rows: pa.Table) -> pa.Table:
        """The rows without those that are too old for a standing query, which are none of its."""
        for item in self.lateness.columns:
            age = None if item.column.lateness is None else item.column.lateness.age
            if age is not None:
                limit = self.clock() - timedelta(microseconds=age)
                rows = rows.filter(pc.invert(below(rows.column(item.place), limit)))
        return rows

    def _reported(self, rows: pa.Table, found: Sequence[tuple[str, pa.ChunkedArray]]) -> pa.Table | None:
        """The rows that do not pass, each with the first reason against it."""
        why: dict[int, str] = {}
        for message, mask in found:
            for place in pc.indices_nonzero(mask).to_pylist():
                why.setdefault(place, message)
        places, rejections = sorted(why), Rejections()
        for place, row in zip(places, python_rows(rows.take(pa.array(places, pa.int64()))), strict=True):
            text = row_json(dict(zip(rows.column_names[:-1], row[:-1], strict=True)))
            for _ in range(abs(row[-1])):
                rejections.add(self.view, why[place], text)
        return rejections.change() if rejections.rows else None

    def _parted_there(self, delta: Delta) -> Parted:
        """The same by Spark, for a change that is not on the driver."""
        judged = delta.judged(self.lateness.judging(self.clock()))
        values = {_name(item): [comparable_value(judged.greatest[item.place])] for item in self.lateness.columns}
        rejections = Rejections()
        for why, row, times in judged.late:
            for _ in range(times):
                rejections.add(self.view, why, row)
        change = rejections.change() if rejections.rows else None
        return Parted(judged.passed, change, replace(self, lateness=self.lateness.moved(values)))


def _name(item: LateColumn) -> str:
    return item.column.name.lower()


def _without(rows: pa.Table, masks: Sequence[pa.ChunkedArray]) -> pa.Table:
    """The rows for which none of the masks is true."""
    out = masks[0]
    for mask in masks[1:]:
        out = pc.or_(out, mask)
    return rows.filter(pc.invert(out))


def view_gate(view: View, clock: Callable[[], datetime], catalog: Catalog) -> Gate:
    """The filter behind a view before its first row; SqlError if a bound does not fit its column."""
    if any(lateness.sessions for lateness in view.lateness.values()):
        return session_gate(view, clock, keeps_rows=view.plan is None or not append_only(view.plan, catalog))
    if any(lateness.remembering is not None for lateness in view.lateness.values()):
        return remembering_gate(view)
    if any(lateness.keys for lateness in view.lateness.values()):
        return keyed_gate(view)
    return ViewGate(view.name, view_lateness(view), clock)


def view_lateness(view: View) -> TableLateness:
    """The LATENESS columns of a view; of one whose type is not known yet nothing is checked."""
    return TableLateness(tuple(late_column(view.name, column, place) for place, column in late_view_columns(view)))


def late_rows(view: str, rows: pa.Table) -> pa.Table:
    """Weighted rows that a view has not taken, since they were late for it, as a change of `error_view`."""
    rejections = Rejections()
    for *row, weight in python_rows(rows):
        text = row_json(dict(zip(rows.column_names, row, strict=False)))
        for _ in range(weight):
            rejections.add(view, LATE, text)
    return rejections.change()


def error_rows(tables: list[pa.Table]) -> list[tuple[Any, ...]]:
    """The rows of changes of `error_view`, without their weights."""
    names = [column.name for column in ERROR_VIEW.columns]
    return [tuple(row[name] for name in names) for table in tables for row in table.to_pylist()]
