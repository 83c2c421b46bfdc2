"""The sessions of rows in the order in which they arrive: which rows belong to one, and when it closes.

    a row opens a session if `opens` holds for it, or any row does; until then the rows of its key belong to none
    a row for which `closes` holds is the last one, and belongs to it if it is `included`, however late it comes
    a row that opens one while another is open closes that one, unless sessions merge
    a session that has become `longest` closes with the row that has made it so
    one whose last row is `silence` ago by the clock closes by itself

A session that has closed never changes. A row that goes takes itself out of a session that is open.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import Any

from penstock.catalog.model import ClosingSessions

_MICROSECOND = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class Arriving:
    """A row as a session sees it: its key, its time in microseconds, what it opens and closes; `row` is all of it."""

    key: Any
    time: int | None
    opens: bool
    closes: bool
    row: Any = None


@dataclass(slots=True)
class OpenSession:
    """A session that is open: its number, its least and greatest time, and the clock of its last row.

    `rows` has each with its time, where rows may go again.
    """

    number: int
    touched: datetime
    least: int | None = None
    greatest: int | None = None
    rows: Counter[tuple[Any, int | None]] | None = None

    @property
    def span(self) -> int:
        """The distance of its times."""
        return 0 if self.least is None or self.greatest is None else self.greatest - self.least

    def copy(self) -> OpenSession:
        """One that can change without this one."""
        rows = None if self.rows is None else Counter(self.rows)
        return OpenSession(self.number, self.touched, self.least, self.greatest, rows)

    def grown(self, item: Arriving, clock: datetime) -> None:
        """Take in a row."""
        self.touched = clock
        self._reach(item.time)
        if self.rows is not None:
            self.rows[item.row, item.time] += 1

    def _reach(self, time: int | None) -> None:
        if time is not None:
            self.least = time if self.least is None else min(self.least, time)
            self.greatest = time if self.greatest is None else max(self.greatest, time)

    def shrunk(self, item: Arriving) -> bool:
        """Give a row back; False if it has none such."""
        known = (item.row, item.time)
        if self.rows is None or not self.rows[known]:
            return False
        self.rows[known] -= 1
        self.rows = +self.rows
        self.least = self.greatest = None
        for _, time in self.rows:
            self._reach(time)
        return True


@dataclass(frozen=True)
class Sessions:
    """The open session of each key, as the last step leaves them.

    `known` may lack the `changes` of that step (None: there is none any more). `next` is the number of the next one.
    `short` are the numbers of those that have closed in the step before they were `longest`.
    """

    rule: ClosingSessions
    keeps_rows: bool = False
    known: dict[Any, OpenSession] = field(default_factory=dict, compare=False)
    changes: Mapping[Any, OpenSession | None] = field(default_factory=lambda: MappingProxyType({}))
    next: int = 0
    short: frozenset[int] = frozenset()

    def followed(self) -> None:
        """Have `known` include the changes: the step has happened, as another one begins."""
        for key, session in self.changes.items():
            if session is None:
                self.known.pop(key, None)
            else:
                self.known[key] = session

    def open(self) -> Iterator[tuple[Any, OpenSession]]:
        """The open sessions with their keys."""
        for key in {**self.known, **self.changes}:
            session = self.changes[key] if key in self.changes else self.known[key]
            if session is not None:
                yield key, session

    @property
    def least_open(self) -> int:
        """The number below which all are closed."""
        return min((session.number for _, session in self.open()), default=self.next)

    def timer(self) -> datetime | None:
        """The clock at which the first one will have been silent for long enough."""
        if self.rule.silence is None:
            return None
        touched = min((session.touched for _, session in self.open()), default=None)
        return None if touched is None else touched + self.rule.silence * _MICROSECOND

    def closed(self, clock: datetime, *, ended: bool) -> Sessions:
        """The same when those are closed that have been silent, or all of them as nothing follows."""
        due = self.timer()
        if not ended and (due is None or due > clock):
            return self
        silence = None if self.rule.silence is None else self.rule.silence * _MICROSECOND
        over = {
            key: session
            for key, session in self.open()
            if ended or (silence is not None and session.touched + silence <= clock)
        }
        short = {session.number for session in over.values() if session.span < self.rule.longest}
        changes = MappingProxyType({**self.changes, **dict.fromkeys(over)})
        return replace(self, changes=changes, short=self.short | short)

    def stepped(self, items: Iterable[tuple[int, Arriving]], clock: datetime) -> tuple[list[int | None], Sessions]:
        """The session of each row that comes (weight 1) or goes (-1), None where it has none; and what follows."""
        self.followed()
        step = _Step(self, clock)
        numbers = [step.come(item) if weight > 0 else step.gone(item) for weight, item in items]
        changes = MappingProxyType(step.changes)
        return numbers, replace(self, changes=changes, next=step.next, short=frozenset(step.short))


class _Step:
    """Sessions while rows come and go."""

    def __init__(self, before: Sessions, clock: datetime) -> None:
        self.rule, self.known, self.clock = before.rule, before.known, clock
        self.next, self.keeps_rows = before.next, before.keeps_rows
        self.changes: dict[Any, OpenSession | None] = {}
        self.short: set[int] = set()

    def come(self, item: Arriving) -> int | None:
        """The session of a row that comes."""
        session = self._of(item.key)
        if item.closes:
            return self._last(session, item)
        begins = self.rule.opens is not None and item.opens
        if session is not None and begins and not self.rule.merges:
            self._close(item.key, session)
            session = None
        if session is None:
            if not item.opens:
                return None
            session = self._new(item.key)
        session.grown(item, self.clock)
        if session.span >= self.rule.longest:
            self._close(item.key, session)
        return session.number

    def gone(self, item: Arriving) -> int | None:
        """The open session that a row goes from."""
        session = self._of(item.key)
        if session is None or not session.shrunk(item):
            return None
        if not session.rows:
            self.changes[item.key] = None
        return session.number

    def _last(self, session: OpenSession | None, item: Arriving) -> int | None:
        """The session of a row that closes it: it may be the only row."""
        if session is None:
            if not (item.opens and self.rule.included):
                return None
            session = self._new(item.key)
        if self.rule.included:
            session.grown(item, self.clock)
        self._close(item.key, session)
        return session.number if self.rule.included else None

    def _of(self, key: Any) -> OpenSession | None:
        """The open session of a key, free to change."""
        if key not in self.changes:
            found = self.known.get(key)
            if found is None:
                return None
            self.changes[key] = found.copy()
        return self.changes[key]

    def _new(self, key: Any) -> OpenSession:
        rows: Counter[tuple[Any, int | None]] | None = Counter() if self.keeps_rows else None
        session = self.changes[key] = OpenSession(self.next, self.clock, rows=rows)
        self.next += 1
        return session

    def _close(self, key: Any, session: OpenSession) -> None:
        if session.span < self.rule.longest:
            self.short.add(session.number)
        self.changes[key] = None
