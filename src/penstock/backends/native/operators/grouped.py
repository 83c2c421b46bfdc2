"""State by group whose changes can be added up: what a change contributes to each group, and what that makes of it."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from penstock.backends.api import LineText
from penstock.backends.native.comparing import key
from penstock.backends.native.kinds import stored, width
from penstock.backends.native.operators.operator import NativeOperator
from penstock.backends.native.operators.touched import NULL_SAFE, equality
from penstock.backends.native.proof import Proven, quoted
from penstock.backends.native.trace import Rows, listed
from penstock.backends.portable import Portable
from penstock.backends.thresholds import LARGE_STATE_ROWS, LEAST_DELETED_ROWS, REWRITE_SHARE
from penstock.catalog.types import Type


@dataclass(frozen=True, slots=True)
class Partial:
    """One partial result of a group: its DuckDB type, the aggregate that merges contributions, and how states merge.

    `value` is what a row of a change contributes, over the input's columns and `__weight`. `merged` makes a state of
    two, in which `{0}` is the older; where one of them is NULL, NULL or the other one. `checked` is a state `{0}`
    again, or raises an error for one that cannot be.
    A change may contribute more than a state holds: what is `beside` goes into `whole`, which then says the state
    after a change, of the state before `{0}`, the contribution `{1}`, and the columns of `c`; any may be NULL.
    """

    name: str
    kind: str
    value: str
    aggregate: str = "sum"
    merged: str = "{0} + {1}"
    checked: str = ""
    beside: tuple[Partial, ...] = ()
    whole: str = ""


class GroupedOperator(NativeOperator):
    """The shared part. The state has a row for each group: its keys `__g0`, …, and its partials."""

    keys: tuple[tuple[str, Type], ...]  # an expression over the input for each key, and its type
    partials: tuple[Partial, ...]
    computes_answers = False  # what it answers is more than a difference of counts

    def prepare(self) -> None:
        """Make the table of the state, once keys and partials are known."""
        self.groups = tuple(f"__g{position}" for position in range(len(self.keys)))
        self.columns = tuple((group, kind) for group, (_, kind) in zip(self.groups, self.keys, strict=True))
        self._stored = [(name, stored(kind)) for name, kind in self.columns]
        self._stored += [(item.name, item.kind) for item in self.partials]
        self.collector.check(0, self.columns)
        self.table = self.store.table(self._stored)
        self.entries = 0
        self._proposed = 0
        self._deleted = 0  # rows that still take room in the table
        self._deleted_then = 0
        self._touches, self._adds = self.store.name(), self.store.name()

    @property
    def contributions(self) -> list[Partial]:
        """All columns that a change contributes."""
        return [part for item in self.partials for part in (item, *item.beside)]

    @abstractmethod
    def answers(self, before: str, after: str, *, first: bool) -> list[str]:
        """SELECTs from `__touched` of the output's rows, with weight; `before` and `after` stand before partials."""

    @abstractmethod
    def vanished(self) -> str:
        """The condition of an entry that says nothing any more."""

    def advance(self, contributed: Sequence[str], *, first: bool) -> Rows | None:
        """Add up what rows of a change contribute (`__g…` and partials), and answer for the groups touched."""
        touched, same = self._touches, NULL_SAFE
        count = 0
        if contributed:
            change = self._added(contributed)
            if self.groups and self.entries >= LARGE_STATE_ROWS:
                self.store.made(self._adds, change)
                change = f"SELECT * FROM {self._adds}"
                same = equality(self.store, self._adds, self.groups)
            count = self.store.made(touched, self._touched(change, same))
        if not count and not self.groups and first:
            count = self.store.made(touched, self._touched(self._untouched(), same))
        if not count:
            return None
        self._replace(touched, same)
        found = " UNION ALL ".join(self.answers("__o_", "__t_", first=first)).replace("__touched", touched)
        return Rows(f"({found})", distinct=self.tells_equals, costly=self.computes_answers)

    def _added(self, contributed: Sequence[str]) -> str:
        parts = self.contributions
        added = [f"{item.aggregate}({quoted(item.name)})::{item.kind} AS {quoted(item.name)}" for item in parts]
        groups = listed(self.groups)
        by = f" GROUP BY {groups}" if groups else " HAVING count(*) > 0"
        items = ", ".join([*([groups] if groups else []), *added])
        return f"SELECT {items} FROM ({' UNION ALL '.join(contributed)}){by}"

    def _untouched(self) -> str:
        """The one group of an aggregate without keys, over nothing."""
        return f"SELECT {', '.join(f'NULL::{item.kind} AS {quoted(item.name)}' for item in self.contributions)}"

    def _touched(self, change: str, same: str) -> str:
        """The touched groups: places in the state (`__at`), partials before (`__o_`) and after (`__t_`)."""
        items = [f"c.{group} AS {group}" for group in self.groups]
        for item in self.partials:
            old, new, name = f"s.{quoted(item.name)}", f"c.{quoted(item.name)}", item.name
            merged = item.merged.format(old, new)
            after = item.whole.format(old, new) or f"coalesce({merged}, {old}, {new})"
            after = item.checked.format(f"({after})") or after
            items += [f"{old} AS {quoted('__o_' + name)}", f"{after} AS {quoted('__t_' + name)}"]
        on = " AND ".join(f"s.{group} {same} c.{group}" for group in self.groups) or "true"
        state = f"(SELECT *, rowid AS __at FROM {self.table})"
        return f"SELECT __at, {', '.join(items)} FROM ({change}) c LEFT JOIN {state} s ON {on}"

    def _replace(self, touched: str, same: str) -> None:
        """Have the touched groups hold what they are now; where most of a large state goes for that, all is written."""
        on = " AND ".join(f"s.{group} {same} c.{group}" for group in self.groups) or "true"
        partials = [f"{quoted('__t_' + item.name)} AS {quoted(item.name)}" for item in self.partials]
        items = ", ".join([*self.groups, *partials])
        now = f"SELECT * FROM (SELECT {items} FROM {touched}) WHERE NOT ({self.vanished()})"
        known = 0
        if self.entries >= LARGE_STATE_ROWS:
            known = int(str(self.store.value(f"SELECT count(__at) FROM {touched}")))
        if known and known * REWRITE_SHARE > self.entries:
            others = f"SELECT s.* FROM {self.table} s ANTI JOIN {touched} c ON {on}"
            self._proposed = self.store.rewritten(self.table, f"{others} UNION ALL {now}") - self.entries
            self._deleted_then = 0
            return
        gone = 0
        if self.entries:
            gone = self.store.changed(
                f"DELETE FROM {self.table} WHERE rowid IN (SELECT __at FROM {touched} WHERE __at IS NOT NULL)"
            )
        came = self.store.changed(f"INSERT INTO {self.table} {now}")
        self._proposed = came - gone
        self._deleted_then = self._deleted + gone

    def portable(self) -> Portable:
        values = [f"{text} AS {quoted(name)}" for name, text in self.outward().items()]
        return Portable(groups=self.store.arrow(f"SELECT {', '.join([*self.groups, *values])} FROM {self.table}"))

    def hold(self, found: Portable) -> None:
        if found.groups is None or not found.groups.num_rows:
            return
        inward = self.inward(found.groups.column_names)
        keys = [f"{key(Proven(group, kind))} AS {group}" for group, kind in self.columns]
        values = [f"CAST({inward[item.name]} AS {item.kind}) AS {quoted(item.name)}" for item in self.partials]
        with self.store.given(found.groups) as given:
            rows = f"SELECT {', '.join([*keys, *values])} FROM {given}"
            self._proposed = self.store.changed(
                f"INSERT INTO {self.table} SELECT * FROM ({rows}) WHERE NOT coalesce({self.vanished()}, false)"
            )
        self.commit()

    def outward(self) -> Mapping[str, str]:
        """The partial results as they are in no engine's form, by their names there."""
        return {item.name: quoted(item.name) for item in self.partials}

    def inward(self, names: Sequence[str]) -> Mapping[str, str]:
        """Those here, by their names, of what has such `names` there."""
        return {name: quoted(name) for name in names}

    def collect(self, lines: LineText | None, *, whole: bool) -> None:
        gone = self.collector.expired(0, self.columns, self.entries, lines, whole=whole)
        if gone:
            condition = " OR ".join(f"coalesce({item}, false)" for item in gone)
            expired = self.store.changed(f"DELETE FROM {self.table} WHERE {condition}")
            self.entries, self._deleted = self.entries - expired, self._deleted + expired
            self._deleted_then = self._deleted
            self.collector.collected(0, self.entries)
        if self._deleted >= max(self.entries, LEAST_DELETED_ROWS):
            self.store.rewritten(self.table, f"SELECT * FROM {self.table}")
            self._deleted = self._deleted_then = 0

    def drop(self) -> None:
        super().drop()
        self.store.drop(self.table)
        self.store.drop(self._touches)
        self.store.drop(self._adds)

    def state(self) -> Iterator[tuple[int, int]]:
        yield self.entries, self.entries * width(tuple(kind for _, kind in self._stored))

    def commit(self) -> None:
        super().commit()
        self.entries += self._proposed
        self._proposed, self._deleted = 0, self._deleted_then

    def discard(self) -> None:
        super().discard()
        self._proposed, self._deleted_then = 0, self._deleted
