"""A query that is shown by a policy: its trigger says what is due, its dressing how that is shown.

change  →  trigger.fired  →  what is due  →  dressing.shown  →  rows for whoever asked
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any, assert_never

import pyarrow as pa
import pyarrow.compute as pc

from penstock.analysis.derived import Derived, of_source
from penstock.analysis.keys import unique_keys
from penstock.analysis.session_ends import session_ends
from penstock.analysis.waterline import Reader
from penstock.backends.api import Delta
from penstock.backends.waterlines import below
from penstock.backends.weighted import Rows, takes_back
from penstock.catalog.model import Catalog, View
from penstock.circuit.streaming import check_meetings, streamed
from penstock.emit.api import Emitted, Moment, Promise
from penstock.emit.counting import AfterRows, Tally
from penstock.emit.dressing import Dressing
from penstock.emit.groups import groups_of
from penstock.emit.refining import Refined
from penstock.emit.sessions import sessions_now
from penstock.emit.triggers import AfterDelay, AtOnce, EachTick, Given, WaitingTrigger, WhenClosed
from penstock.errors import Diagnostic, InternalError, SqlError
from penstock.plan.emission import Batch, Content, GroupDelay, Refine, Row, SessionClose, Tick, WindowClose
from penstock.plan.showing import Showing
from penstock.rewrite import rewrite


@dataclass(frozen=True)
class Closing:
    """A column whose waterline closes rows: those below it."""

    place: int
    waterline: Derived


@dataclass(frozen=True)
class Standing:
    """A standing query between two steps.

    `started` is the clock from which its ticks are counted; None until its first step. `silent` is the clock at which
    its rows will have been silent for TIMEOUT. After that, rows of groups up to `closed_to` count as late. Results are
    refined by `progress`, a waterline, or else by the greatest time that the query has seen.
    """

    name: str
    showing: Showing
    closing: tuple[Closing, ...]
    dressing: Dressing
    trigger: WaitingTrigger | None = None
    started: datetime | None = None
    silent: datetime | None = None
    closed_to: Mapping[int, Any] | None = None
    progress: Derived | None = None

    @property
    def goes_by(self) -> tuple[Derived, ...]:
        """The waterlines that close rows."""
        progress = () if self.progress is None else (self.progress,)
        return (*(item.waterline for item in self.closing), *progress)

    @property
    def waits(self) -> bool:
        """True if the end of the input would show something more."""
        return self.trigger is not None and self.trigger.holds and not self.dressing.has_finished

    def after(self, change: Delta | None, moment: Moment) -> Emitted:
        """The rows that a step shows."""
        if self.dressing.has_finished:
            return Emitted(None, self, finished=True)
        begun = self if self.trigger is not None else self._begun(moment.clock)
        return begun.stepped(change, moment)

    def _begun(self, clock: datetime) -> Standing:
        started = self.started or clock
        return replace(self, started=started, trigger=trigger_of(self.showing, started, fresh=self.showing.filled))

    def stepped(self, change: Delta | None, moment: Moment) -> Emitted:
        """The same of one that has begun."""
        assert self.trigger is not None  # noqa: S101 - begun
        arrived = bool(self.showing.reads & moment.arrived)
        silent, timed_out = self._silence(arrived=arrived, clock=moment.clock)
        rows = None if change is None or change.is_empty() else self._on_time(change.arrow())

        sessions = sessions_now(self.showing.sessions, moment)

        def closed(found: Rows) -> pa.Array:
            return self._closed(found, moment) if sessions is None else sessions.closed(found)

        over = timed_out or moment.ended
        time = self._time(moment)
        fired = self.trigger.fired(Given(rows, moment.clock, arrived, closed, over, time, self._ends))
        self._check(fired.due)
        due = fired.due if sessions is None else sessions.wanted(fired.due)
        shown, dressing = self.dressing.shown(due, moment.clock)
        dressing = dressing.without_closed(self._over(moment), fired.then.left)
        closed_to = self._closed_to(fired.due) if over else self.closed_to
        then = replace(self, trigger=fired.then, dressing=dressing, silent=silent, closed_to=closed_to)
        promises = list(self._promises(moment)) if over else []
        promises += [] if sessions is None else sessions.promises()
        session = None if sessions is None else sessions.timer
        timers = [timer for timer in (fired.timer, silent, session) if timer is not None]
        return Emitted(
            shown,
            then,
            None if dressing.has_finished else min(timers, default=None),
            tuple(promises),
            dressing.has_finished,
        )

    def _over(self, moment: Moment) -> Callable[[Any], bool]:
        """Tells of the values by which a window's changes are counted whether the window is over."""
        counted = self.dressing.counted
        if self._goes_by_key:
            return partial(self._over_in_substream, moment)
        known = zip(self.closing, moment.waterlines, strict=False)
        lines = {counted.index(item.place): line for item, line in known if item.place in counted}
        return lambda group: any(_is_below(group[at], line) for at, line in lines.items())

    def _over_in_substream(self, moment: Moment, group: Any) -> bool:
        """The same by the waterline of the substream, whose key stands behind what tells windows apart."""
        (own,), windows = self.showing.waterlines, self.showing.windows
        gate = moment.gates.get(own.view)
        line = None if gate is None else gate.line(group[len(windows) :])
        place = (self.showing.ends or windows)[-1]
        bound = group[windows.index(place)]
        length = timedelta(0) if self.showing.ends else timedelta(microseconds=own.length)
        return line is not None and bound is not None and bool(bound + length <= line)

    # Silence

    def _silence(self, *, arrived: bool, clock: datetime) -> tuple[datetime | None, bool]:
        """The clock at which the rows will have been silent for long enough, and whether they have been so now."""
        timeout = self.showing.clause.timeout
        if timeout is None or self.showing.sessions is not None:  # each session is silent by itself
            return None, False
        if arrived:
            return clock + timeout, False
        timed_out = self.silent is not None and self.silent <= clock
        return (None if timed_out else self.silent), timed_out

    def _promises(self, moment: Moment) -> Iterator[Promise]:
        """Later rows do not change what is shown for want of rows, or at their end: they are late."""
        for item in self.showing.waterlines:
            gate = moment.gates.get(item.view)
            if gate is not None:
                yield Promise(item.view, gate.closed(item))

    def _closed_to(self, due: Rows | None) -> Mapping[int, Any] | None:
        """The greatest value of each column that closes rows, where no waterline of the query's own can move."""
        if self.showing.waterlines or due is None:
            return self.closed_to
        found = dict(self.closed_to or {})
        for item in self.closing:
            greatest = pc.max(due.column(item.place)).as_py()
            if greatest is not None:
                found[item.place] = max(greatest, found.get(item.place, greatest))
        return found

    def _on_time(self, rows: Rows) -> Rows:
        """The rows without those of groups that silence has closed."""
        for place, value in (self.closed_to or {}).items():
            column = rows.column(place)
            rows = rows.filter(pc.fill_null(pc.greater(column, pa.scalar(value, column.type)), True))  # noqa: FBT003
        return rows

    # What is closed

    @property
    def _goes_by_key(self) -> bool:
        """True if each substream closes its windows; the LATENESS of a table closes them for all of its rows."""
        return bool(self.showing.partition and self.showing.waterlines)

    def _closed(self, rows: Rows, moment: Moment) -> pa.Array:
        if self._goes_by_key:
            return self._closed_by_key(rows, moment)
        mask = pa.array([False] * rows.num_rows, pa.bool_())
        for item, value in zip(self.closing, moment.waterlines, strict=False):
            if value is not None:
                found = below(rows.column(item.place), value)
                mask = pc.or_(mask, found.combine_chunks() if isinstance(found, pa.ChunkedArray) else found)
        return mask

    def _closed_by_key(self, rows: Rows, moment: Moment) -> pa.Array:
        """The same by the waterline of each row's own substream."""
        (own,) = self.showing.waterlines
        gate = moment.gates.get(own.view)
        ends = self._ends(rows)
        lines = [None if gate is None else gate.line(key) for key in groups_of(rows, self.showing.partition)]
        return pa.array(
            [line is not None and end is not None and end <= line for end, line in zip(ends, lines, strict=True)],
            pa.bool_(),
        )

    def _time(self, moment: Moment) -> datetime | None:
        """The greatest time that has come, from which results are refined."""
        if self.progress is not None:
            found: datetime | None = moment.waterlines[-1]
            return found
        gates = [(moment.gates.get(own.view), own) for own in self.showing.waterlines]
        seen = [None if gate is None else gate.seen(own) for gate, own in gates]
        known: list[datetime] = [time for time in seen if time is not None]
        return min(known) if known and len(known) == len(seen) else None

    def _ends(self, rows: Rows) -> list[datetime | None]:
        """The ends of the rows' windows."""
        place = (self.showing.ends or self.showing.windows)[-1]
        found: list[datetime | None] = pc.cast(rows.column(place), pa.timestamp("us")).to_pylist()
        if self.showing.ends:
            return found
        length = timedelta(microseconds=self.showing.waterlines[0].length)
        return [None if start is None else start + length for start in found]

    def _check(self, due: Rows | None) -> None:
        """A row that is shown as final cannot be one that is taken back."""
        if self.showing.content is Content.FINAL and takes_back(due):
            message = f"query {self.name}: a row that nothing should change any more has changed"
            raise InternalError(Diagnostic("FINAL_ROW_CHANGED", message))


def _is_below(value: Any, line: Any) -> bool:
    return type(value) is type(line) and bool(value < line)


def trigger_of(showing: Showing, started: datetime, *, fresh: bool = False) -> WaitingTrigger:
    """The trigger of a policy before its first step; `fresh` if there are rows to show at the first tick."""
    match showing.trigger:
        case WindowClose() | SessionClose():
            return WhenClosed()
        case Tick(every, repeat):
            return EachTick(every, started, showing.content, repeat, fresh=fresh)
        case Batch(every) if every is not None:
            return EachTick(every, started, showing.content, fresh=fresh)
        case GroupDelay(delay, and_watermark):
            return AfterDelay(delay, showing.windows or showing.groups, and_watermark)
        case Batch(rows=rows) if rows > 1:
            return AfterRows(Tally(rows, showing.groups, showing.counter))
        case Refine(rows=rows):
            return Refined(showing.trigger, Tally(rows, showing.groups, showing.counter) if rows > 1 else None)
        case Batch() | Row():
            return AtOnce()
        case _:
            assert_never(showing.trigger)


def standing_query(view: View, catalog: Catalog) -> Standing | None:
    """The standing query that a view is, before its first step; None for any other view.

    SqlError for one that waits for a waterline which cannot be inferred.
    """
    if view.showing is None:
        return None
    check_meetings(view, catalog)
    if view.showing.streamed:
        view = replace(view, showing=streamed(view, catalog))
    assert view.showing is not None  # noqa: S101 - as above
    closing = closing_of(view, catalog)
    if not closing and isinstance(view.showing.trigger, WindowClose | Refine) and not view.showing.partition:
        message = "EMIT AFTER WATERMARK waits for a waterline, but no column of the query has one"
        hint = "GROUP BY window_start of TUMBLE, HOP or SESSION over a time, or give the time of a table LATENESS"
        raise SqlError(Diagnostic("NO_WATERLINE", message, view.showing.clause.span, hint=hint))
    showing = _keyed(view.showing, view, catalog)
    progress = _progress(showing, closing) if isinstance(showing.trigger, Refine) else None
    return Standing(view.name, showing, closing, Dressing(showing), started=showing.started, progress=progress)


def _progress(showing: Showing, closing: tuple[Closing, ...]) -> Derived | None:
    """The waterline from which results are refined; None where the query keeps one of its own."""
    if showing.waterlines:
        return None
    sources = {source for item in closing for source in item.waterline.sources}
    if len(sources) != 1 or not showing.ends:
        message = "results are refined from the ends of windows over the time of one table"
        hint = "GROUP BY window_end, over a table whose time has LATENESS"
        raise SqlError(Diagnostic("REFINEMENT", message, showing.clause.span, hint=hint))
    return of_source(sources.pop())


def _keyed(showing: Showing, view: View, catalog: Catalog) -> Showing:
    """The policy of rows that are not grouped, with a key by which an old row and its successor are one."""
    if showing.groups or showing.single:
        return showing
    keys = sorted(unique_keys(rewrite(view.plan), catalog), key=lambda key: (len(key), sorted(key)))
    places = sorted(view.plan.names.index(name) for name in keys[0]) if keys else []
    return replace(showing, groups=tuple(places), single=bool(keys) and not places)


def closing_of(view: View, catalog: Catalog) -> tuple[Closing, ...]:
    """The columns of a query by whose waterlines its rows are closed: those of its groups, or else any."""
    assert view.showing is not None  # noqa: S101 - the caller has asked
    fields = view.columns
    known = Reader(catalog).of(rewrite(view.plan))  # a join whose condition stands in WHERE has its own waterlines
    if view.showing.streamed and view.showing.order:
        place = view.showing.order[0].place
        return (Closing(place, known[fields[place].name]),)
    # Of SELECT STREAM any line will do: each of its GROUPING SETS may go by another key.
    grouped = (view.showing.windows, view.showing.groups) if view.showing.groups and not view.showing.streamed else ()
    for places in (*grouped, range(len(fields))):
        found = tuple(Closing(place, known[fields[place].name]) for place in places if fields[place].name in known)
        if found:
            return found
    ends = session_ends(view.plan, Reader(catalog))
    names = view.plan.names
    return tuple(Closing(place, ends[names[place]]) for place in view.showing.ends if names[place] in ends)
