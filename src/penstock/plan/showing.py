"""A policy of emission as the binder resolves it: what of a query's changes is shown, when, and how it is dressed.

The query gives more columns than it shows: what its rows are grouped by, and what they are ordered by, stand behind.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta

from penstock.errors import Span
from penstock.plan.emission import Content, EmitClause, Refine, Trigger

_MICROSECOND = timedelta(microseconds=1)
_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 - UTC, as all values here
UNDO, PTIME, VER, KIND, STATE = "undo", "ptime", "ver", "change", "result_state"


@dataclass(frozen=True, slots=True)
class OwnWaterline:
    """The waterline that a query takes from its rows: the view that keeps it, its column, and the windows it closes.

    All in microseconds: a window is `length` long, they begin every `slide` from `origin` on; a session has no slide.
    """

    view: str
    column: str
    length: int
    slide: int | None = None
    origin: int = 0

    def end_after(self, seen: datetime) -> datetime:
        """The end of the last window that has a row of this time; of a session, if no row follows."""
        if self.slide is None:
            return seen + self.length * _MICROSECOND
        since = ((seen - _EPOCH) // _MICROSECOND - self.origin) % self.slide
        return seen + (self.length - since) * _MICROSECOND


@dataclass(frozen=True, slots=True)
class OwnSessions:
    """The sessions that a query makes of its rows: the view behind which they are made, and the place of their number.

    With `only_long` those are shown that have reached their greatest length.
    """

    view: str
    place: int
    only_long: bool = False


@dataclass(frozen=True, slots=True)
class Ordering:
    """One item of ORDER BY: the place of its column, and how its values are ordered."""

    place: int
    descending: bool
    nulls_first: bool


@dataclass(frozen=True, slots=True)
class Showing:
    """A policy over the columns of a query, the first `visible` of which are shown under the `names`.

    `groups` are the places of what its rows are grouped by, or else of a key of theirs; where it is `single` there is
    one row at most. `windows` are the places of what tells windows apart, and `ends`
    of these the windows' ends; `partition` are the places of the keys of its substreams, and `counter` that of the
    number of rows in a group, where results wait for so many. `version` is the place of
    emit_version(), `delta` that of `_tp_delta`. With `stamped` the columns undo, ptime and ver follow; with `marked`
    the kind of each change stands before the row. `limit` rows are shown over its life, or `limit_each` for each value
    of the columns `limit_by`. A query AFTER SESSION CLOSE makes `sessions` of its own. `reads` names the tables that it
    reads, in lower case. Its ticks are counted from `started`, or from its first step; it is `filled` if there were
    rows for it then. Where it is `streamed` each row is shown once, as soon as nothing can change it; `span`
    is the place of its STREAM, `order_span` that of its ORDER BY.
    """

    clause: EmitClause
    content: Content
    trigger: Trigger
    visible: int
    groups: tuple[int, ...] = ()
    single: bool = False
    windows: tuple[int, ...] = ()
    ends: tuple[int, ...] = ()
    partition: tuple[int, ...] = ()
    version: int | None = None
    delta: int | None = None
    stamped: bool = False
    marked: bool = False
    order: tuple[Ordering, ...] = ()
    limit: int | None = None
    limit_each: int | None = None
    limit_by: tuple[int, ...] = ()
    waterlines: tuple[OwnWaterline, ...] = ()
    reads: frozenset[str] = field(default_factory=frozenset)
    names: tuple[str, ...] = ()
    sessions: OwnSessions | None = None
    started: datetime | None = None
    filled: bool = False
    streamed: bool = False
    order_span: Span | None = None
    span: Span | None = None
    counter: int | None = None

    @property
    def shown_names(self) -> tuple[str, ...]:
        """The names of all columns that a reader sees."""
        told = (UNDO, PTIME, VER) if self.stamped else ()
        return (*((KIND,) if self.marked else ()), *self.names, *((STATE,) if self.stated else ()), *told)

    @property
    def stated(self) -> bool:
        """True if each row says whether it is early, complete or final."""
        return isinstance(self.trigger, Refine) and self.trigger.stated
