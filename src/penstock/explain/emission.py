"""The policy of a query that stands, or of a view with EMIT: its normal form, what it shows, and what it waits for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import assert_never

from penstock.analysis.waterline import Waterlines, waterlines
from penstock.bind.emission.falling import FALLING
from penstock.catalog.model import Catalog, View
from penstock.circuit.streaming import streamed
from penstock.plan.emission import (
    Batch,
    Content,
    GroupDelay,
    Refine,
    Row,
    SessionClose,
    Tick,
    WindowClose,
    length,
    signed,
)
from penstock.plan.showing import Showing
from penstock.rewrite import rewrite

_SHOWS = {
    Content.FINAL: "each row once, when nothing changes it any more",
    Content.FULL: "all rows; of windows those that are open, and a last time those that have closed",
    Content.CHANGED: "rows that have come or changed",
    Content.CHANGES: "what is taken back and what comes",
    Content.DELTA: "by how much numbers have changed",
}


@dataclass(frozen=True)
class EmissionFact:
    """The policy in its normal form, what of the rows is shown, and each thing that it waits for."""

    policy: str
    content: Content
    waits: tuple[str, ...]

    @property
    def shows(self) -> str:
        """The content in words."""
        return _SHOWS[self.content]


def emission_fact(view: View, catalog: Catalog) -> EmissionFact | None:
    """The policy of a view that stands; None for one that is shown as it changes. `catalog` has the views it reads."""
    showing = view.showing
    if showing is None or view.plan is None:
        return None
    known = waterlines(rewrite(view.plan), catalog)
    names = [item.name for item in view.columns]
    policy = "SELECT STREAM" if showing.streamed else showing.clause.text()
    showing = streamed(view, catalog) if showing.streamed else showing
    return EmissionFact(policy, showing.content, tuple(_Waits(showing, names, known).all()))


@dataclass(frozen=True)
class _Waits:
    showing: Showing
    names: list[str]
    known: Waterlines

    def all(self) -> Iterator[str]:
        """The things that the policy waits for, each in words."""
        yield from self._trigger()
        clause, showing = self.showing.clause, self.showing
        if clause.timeout is not None and showing.sessions is None:
            yield f"the clock: {length(clause.timeout)} after the last row, which closes all windows"
        if clause.last is not None:
            yield f"nothing older than {length(clause.last.interval)}: such rows do not count"
        if showing.limit is not None:
            yield f"{showing.limit} rows: with these it ends"

    def _trigger(self) -> Iterator[str]:
        match self.showing.trigger:
            case WindowClose():
                yield from self._waterline()
            case Tick(every, repeat):
                yield f"the clock: every {length(every)}{'' if repeat else ', if rows have come since the last time'}"
            case Batch() if self.showing.streamed:
                yield "nothing: a row that comes is never taken back"
            case Batch(rows=rows) if rows > 1:
                yield f"{rows} rows of {self._unit()} since it was last shown"
            case Batch(every):
                batch = "" if every is None else f"the clock: every {length(every)}, if its rows have changed since"
                yield batch or "each step that changes its rows"
            case Row():
                yield "each row that arrives"
            case GroupDelay(delay, and_watermark):
                yield f"the clock: {length(delay)} after the first change of {self._unit()}"
                if and_watermark:
                    yield from self._waterline()
            case SessionClose() as trigger:
                yield from self._session(trigger)
            case Refine() as rule:
                yield from self._refined(rule)
            case _:
                assert_never(self.showing.trigger)

    def _unit(self) -> str:
        if self.showing.windows:
            return "a window"
        return "a group" if self.showing.groups else "the result"

    def _waterline(self) -> Iterator[str]:
        """The waterlines that close rows, with the columns that they have to pass."""
        showing = self.showing
        for own in showing.waterlines:
            each = " of each substream" if showing.partition else ""
            late = "" if showing.clause.delay is None else f", less {length(showing.clause.delay)},"
            yield f"the greatest {own.column}{each} that has come{late} to pass window_end"
        if not showing.waterlines:
            yield from self._declared()

    def _declared(self) -> Iterator[str]:
        """The same of waterlines that tables and views have."""
        if self.showing.streamed and self.showing.order:
            name = self.names[self.showing.order[0].place]
            yield f"{self._of([name])} to pass the first value that its rows are sorted by"
            return
        showing, everything = self.showing, tuple(range(len(self.names)))
        grouped = (showing.windows,) if showing.streamed else (showing.windows, showing.groups)
        places = next((item for item in (*grouped, everything) if self._with_line(item)), ())
        if places and places == showing.windows:
            yield f"{self._of(self._with_line(places))} to pass window_end"
            return
        for name in self._with_line(places):
            what = "a key that goes down as it goes up" if name.startswith(FALLING) else name
            yield f"{self._of([name])} to pass {what}"

    def _with_line(self, places: tuple[int, ...]) -> list[str]:
        return [self.names[place] for place in places if self.names[place] in self.known]

    def _of(self, names: list[str]) -> str:
        """The waterlines from which those of columns follow."""
        sources = sorted({source.name for name in names for source in self.known[name].sources})
        return f"the waterline of {' and of '.join(sources)}" if sources else "the clock"

    def _session(self, trigger: SessionClose) -> Iterator[str]:
        if isinstance(trigger.end, str):
            yield f"a row for which {trigger.end} holds"
        if isinstance(trigger.start, str):
            yield f"a row for which {trigger.start} holds, which begins the next session, unless sessions merge"
        yield f"the times of a session to be {length(trigger.maxspan, 'm')} apart"
        timeout = self.showing.clause.timeout
        if timeout is not None:
            yield f"the clock: {length(timeout)} after the last row of a session"

    def _refined(self, rule: Refine) -> Iterator[str]:
        own = [f"the greatest {item.column} that has come" for item in self.showing.waterlines]
        time = " and ".join(own) or self._of(list(self.known))
        if rule.first < rule.complete:
            counted = "each change" if rule.rows == 1 else f"every {rule.rows} rows of a result"
            each = counted if rule.rate is None else f"every {length(rule.rate)} of it"
            yield f"{time} to pass {_beside(rule.first)}: early results from there on, with {each}"
        yield f"{time} to pass {_beside(rule.complete)}: the complete result"
        if rule.updates and rule.last > rule.complete:
            yield f"late rows, until it has passed {_beside(rule.last)}"


def _beside(distance: timedelta) -> str:
    if not distance:
        return "window_end"
    return f"window_end {'-' if distance < timedelta(0) else '+'} {signed(abs(distance))}"
