"""The gate that makes the sessions of a query AFTER SESSION CLOSE: it numbers the rows that belong to one.

Rows that belong to none do not pass. The number is a column of the view, and its waterline is the least number that is
open: what is known of closed sessions is forgotten behind it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

import pyarrow as pa

from penstock.analysis.declarations import late_view_columns
from penstock.backends.api import Delta
from penstock.backends.columns import python_rows
from penstock.backends.gates import Parted
from penstock.backends.rows import canonical_row, python_values
from penstock.backends.weighted import weighted
from penstock.catalog.model import ClosingSessions, View
from penstock.plan.showing import OwnWaterline
from penstock.steps.intake.arriving_sessions import Arriving, Sessions
from penstock.steps.intake.lateness import LateColumn, TableLateness, Waterline, comparable, late_column
from penstock.steps.rows.rejected import LATE, Rejections, row_json


@dataclass(frozen=True)
class SessionGate:
    """The sessions of one query; `clock` gives the step's clock."""

    view: str
    number: LateColumn
    places: Places
    sessions: Sessions
    clock: Callable[[], datetime]

    @property
    def lateness(self) -> TableLateness:
        """The waterline of the numbers."""
        name = self.number.column.name.lower()
        return TableLateness((self.number,), {name: Waterline(self.sessions.least_open)})

    def parted(self, delta: Delta) -> Parted:
        """The rows that are in a session, with its number; rows that go from a closed one are late."""
        delta, in_order = delta.lasting(), self.sessions.rule.in_order and not delta.retracts
        rows = delta.arrow()
        weights: list[int] = rows.column(rows.num_columns - 1).to_pylist()
        found = list(self.places.arriving(rows, keeps_rows=self.sessions.keeps_rows))
        places = self.places.in_order(rows) if in_order else self.places.by_time(rows, found)
        order = [place for place in places for _ in range(abs(weights[place]))]
        signs = [1 if weights[place] > 0 else -1 for place in order]
        items = ((sign, found[place]) for sign, place in zip(signs, order, strict=True))
        numbers, sessions = self.sessions.stepped(items, self.clock())
        passed = [at for at, number in enumerate(numbers) if number is not None]
        late = [order[at] for at, number in enumerate(numbers) if number is None and signs[at] < 0]
        kept = weighted(rows.take(pa.array([order[at] for at in passed], pa.int64())), [signs[at] for at in passed])
        column = pa.chunked_array([pa.array([numbers[at] for at in passed], pa.int64())])
        kept = kept.set_column(self.number.place, rows.schema.field(self.number.place), column)
        after = replace(self, sessions=sessions)
        return Parted(delta.replaced(kept), self._reported(rows, late), after)

    def _reported(self, rows: pa.Table, late: Sequence[int]) -> pa.Table | None:
        if not late:
            return None
        rejections, names = Rejections(), rows.column_names[: self.number.place]
        for row in python_rows(rows.take(pa.array(late, pa.int64())).select(list(range(len(names))))):
            rejections.add(self.view, LATE, row_json(dict(zip(names, row, strict=True))))
        return rejections.change()

    def line(self, key: object) -> None:
        """Keys have no waterlines of their own here."""
        del key

    def seen(self, own: OwnWaterline) -> None:
        """There is no time for all rows."""
        del own

    def closed(self, own: OwnWaterline) -> SessionGate:
        """There are no windows over it."""
        del own
        return self

    # The policy asks

    def over(self, clock: datetime, *, ended: bool) -> SessionGate:
        """The same when the sessions are closed that the clock closes, or all of them."""
        sessions = self.sessions.closed(clock, ended=ended)
        return self if sessions is self.sessions else replace(self, sessions=sessions)

    def open_numbers(self) -> frozenset[int]:
        """The numbers of the sessions that are open."""
        return frozenset(session.number for _, session in self.sessions.open())

    @property
    def short(self) -> frozenset[int]:
        """The numbers of those that have closed in this step before they had their greatest length."""
        return self.sessions.short

    def timer(self) -> datetime | None:
        """The clock at which the next one closes by itself."""
        return self.sessions.timer()


@dataclass(frozen=True)
class Places:
    """The places of what sessions are made by, among the columns of the view."""

    keys: tuple[int, ...]
    time: int
    opens: int | None
    closes: int | None
    arrived: tuple[int, ...]

    def in_order(self, rows: pa.Table) -> list[int]:
        """The places of the rows in the order in which they have arrived, those that go first."""
        arrived = self._arrived(rows)
        return sorted(range(rows.num_rows), key=lambda at: (*arrived(at), at))

    def by_time(self, rows: pa.Table, found: Sequence[Arriving]) -> list[int]:
        """The same of rows that lie in no order: those that have arrived together come by their times.

        Of one time those come first that open a session, and those last that close one.
        """
        arrived, whole = self._arrived(rows), [repr(canonical_row(row)) for row in python_values(rows)]

        def moment(at: int) -> tuple[Any, ...]:
            item = found[at]
            return *arrived(at), _known(item.time), not item.opens, item.closes, whole[at]

        return sorted(range(rows.num_rows), key=moment)

    def _arrived(self, rows: pa.Table) -> Callable[[int], tuple[Any, ...]]:
        """The time at which each row has arrived, as far as that is known; those come first that go."""
        weights = rows.column(rows.num_columns - 1).to_pylist()
        moments = [rows.column(place).to_pylist() for place in self.arrived]
        return lambda at: (weights[at] > 0, *(_known(values[at]) for values in moments))

    def arriving(self, rows: pa.Table, *, keeps_rows: bool) -> Iterator[Arriving]:
        """The rows as sessions see them."""
        count = rows.num_rows
        keys = (
            [canonical_row(row) for row in python_values(rows.select(list(self.keys)))] if self.keys else [()] * count
        )
        times = comparable(rows.column(self.time).cast(pa.timestamp("us", rows.column(self.time).type.tz)))
        opens = [True] * count if self.opens is None else rows.column(self.opens).to_pylist()
        closes = [False] * count if self.closes is None else rows.column(self.closes).to_pylist()
        whole: list[Any] = [None] * count
        if keeps_rows:
            whole = [canonical_row(row[:-1]) for row in python_values(rows)]
        for key, time, begins, ends, row in zip(keys, times, opens, closes, whole, strict=True):
            yield Arriving(key, None if time is None else _micros(time), bool(begins), bool(ends), row)


def _known(value: Any) -> tuple[bool, Any]:
    return (value is not None, value if value is not None else 0)


def _micros(time: datetime) -> int:
    since = time - datetime(1970, 1, 1)  # noqa: DTZ001 - UTC, as all values here
    return (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds


def session_gate(view: View, clock: Callable[[], datetime], *, keeps_rows: bool) -> SessionGate:
    """The gate behind a view before its first row."""
    ((place, column),) = late_view_columns(view)
    rule = None if column.lateness is None else column.lateness.sessions
    assert rule is not None  # noqa: S101 - it is chosen for that
    return SessionGate(
        view.name, late_column(view.name, column, place), _places(view, rule), Sessions(rule, keeps_rows), clock
    )


def _places(view: View, rule: ClosingSessions) -> Places:
    names = [item.name.lower() for item in view.columns]

    def at(name: str) -> int:
        return names.index(name.lower())

    opens, closes = (None if name is None else at(name) for name in (rule.opens, rule.closes))
    return Places(tuple(map(at, rule.keys)), at(rule.time), opens, closes, tuple(map(at, rule.arrived)))
