"""New views that are filled beside those at work: from the rows of their tables, piece by piece, between steps.

    rows at the step at which it begins  →  rows that steps have brought since  →  caught up: a step has them in place

The circuit of the new views lies aside. A piece is some rows of one table, given to the circuit as a change, in a
transaction of its own; what comes out adds up to the views' answers. Changes of steps meanwhile wait behind the rows
that were there, so that no row goes before it has come. Nobody sees any of it. What waterlines let operators forget
is kept until the views are in place, so that the order of the tables does not matter.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc

from penstock.backends.api import Delta
from penstock.backends.columns import carried_plainly
from penstock.backends.native.stored import lies_in_process
from penstock.backends.thresholds import (
    FILLED_PIECES,
    FIRST_FILLED_ROWS,
    LARGEST_FILLED_SHARE,
    LEAST_FILLED_ROWS,
    MOST_CATCHING_UP,
    MOST_FILLED_ROWS,
)
from penstock.catalog.model import ERROR_VIEW, Catalog, Table
from penstock.catalog.reserved import WEIGHT
from penstock.circuit.reports import reports_of
from penstock.emit.plain import PLAIN
from penstock.emit.policies import emission_of
from penstock.engine.installed import Installed
from penstock.engine.obstacles import is_by_row, obstacle_of
from penstock.engine.view_content import ViewContent, can_lie_in_process
from penstock.failpoints import reach
from penstock.rewrite import rewrite_views
from penstock.steps.contents import Stored, as_declared
from penstock.steps.failures import EvaluationError, translated
from penstock.steps.intake.fold import Intake
from penstock.steps.intake.forgetting import forgets
from penstock.steps.state import State


@dataclass(frozen=True, slots=True)
class FillingFacts:
    """New views that are filled: so many rows `of` all that are known; `seconds` are left at the rate so far."""

    views: tuple[str, ...]
    rows: int
    of: int
    seconds: float | None

    def __str__(self) -> str:
        left = "" if self.seconds is None else f", about {max(self.seconds, 0.1):,.1f} s left"
        return f"filling {', '.join(self.views)}: {self.rows:,} of {self.of:,} rows{left}"


class IndefiniteError(Exception):
    """An expression has raised for rows that may not be there when all are; its cause says what was raised."""


@dataclass
class _Feed:
    """The rows of one table that are still to be given: those that were there, then those that came."""

    table: Table
    there: Iterator[pa.Table]
    came: deque[pa.Table] = field(default_factory=deque)
    left: pa.Table | None = None
    has_all: bool = False

    def take(self, most: int) -> pa.Table | None:
        """At most so many rows; None if there are none left."""
        found: list[pa.Table] = []
        missing = most
        while missing > 0 and (piece := self._next()) is not None:
            found.append(piece.slice(0, missing))
            self.left = piece.slice(missing) if piece.num_rows > missing else None
            missing -= found[-1].num_rows
        return pa.concat_tables(found) if found else None

    def _next(self) -> pa.Table | None:
        if self.left is not None:
            return self.left
        if not self.has_all:
            piece = next(self.there, None)
            if piece is not None:
                return piece
            self.has_all = True
        return self.came.popleft() if self.came else None


@dataclass(frozen=True)
class Wanted:
    """The views to be filled: `names` of the catalog `typed`, and those that are `replaced`, of the one at work.

    All names are in lower case, and both catalogs in the types that the engine carries.
    """

    typed: Catalog
    names: Sequence[str]
    present: Catalog
    replaced: Sequence[str] = ()


def obstacles(state: State, wanted: Wanted) -> dict[str, str]:
    """The views that cannot be filled piece by piece, with the reason."""
    circuits, found = _circuits(state, wanted)
    for item in circuits:
        item.drop()
    return found


def filling(state: State, wanted: Wanted) -> Filling | None:
    """The views that can be filled piece by piece; None if none can."""
    circuits, _ = _circuits(state, wanted)
    if not circuits:
        return None
    pairs = zip((wanted.typed, wanted.present), circuits, strict=False)
    return Filling(state, *(_Aside(state, catalog, installed) for catalog, installed in pairs))


def _circuits(state: State, wanted: Wanted) -> tuple[list[Installed], dict[str, str]]:
    """The circuit aside of the views that can be filled, and of those that they replace; why others cannot."""
    before, found = _circuit(state, wanted.present, wanted.replaced)
    found = {name: f"{reason}, in the view that it replaces" for name, reason in found.items()}
    new, more = _circuit(state, wanted.typed, [name for name in wanted.names if name not in found])
    made = [item for item in (new, before) if item is not None]
    if new is not None:
        return made, found | more
    for item in made:
        item.drop()
    return [], found | more


def _circuit(state: State, catalog: Catalog, names: Sequence[str]) -> tuple[Installed | None, dict[str, str]]:
    """The circuit aside of those views that can be filled piece by piece, and why the others cannot."""
    found = {name: reason for name in names if (reason := _of_view(state, catalog, name)) is not None}
    rewritten = rewrite_views(catalog)
    of_table = partial(_of_table, state, catalog)
    while plans := {name: rewritten.views[name].plan for name in names if name not in found}:
        installed = state.engine.circuit(rewritten, plans)
        reasons = {name: obstacle_of(installed, name, of_table) for name in plans}
        more = {name: reason for name, reason in reasons.items() if reason is not None}
        if not more:
            installed.aside = True
            return installed, found
        installed.drop()
        found |= more
    return None, found


def _of_view(state: State, typed: Catalog, name: str) -> str | None:
    """The reason of a view itself; None if there is none."""
    view = typed.views[name]
    if view.is_hidden or view.writes is not None:
        return "it stands for a statement"
    if view.recursive:
        return "it is recursive"
    if view.plan is not None and reports_of(view.plan):
        return "rows that are late for it are reported"
    if view.lateness or typed.passed_in(name) or emission_of(view, typed) is not PLAIN:
        return "what it shows goes by when rows come"
    if state.engine.process(typed) is None or not can_lie_in_process(view):
        return "it works on Spark"
    return None


def _of_table(state: State, typed: Catalog, name: str) -> str | None:
    """The reason of a relation that is read; None if there is none."""
    table, known = typed.tables.get(name), state.catalog.tables.get(name)
    if table is None or name == ERROR_VIEW.name:
        return f"{name} is read as it comes"
    if known is None:
        return None
    if len(known.columns) != len(table.columns):
        return f"{known.name} gains columns"
    if not (lies_in_process(table) and all(carried_plainly(column.type) for column in table.columns)):
        return f"the rows of {known.name} lie on Spark"
    if forgets(table) if table.key else table.history.lower() != "all":
        return f"{known.name} does not keep all rows"
    return None


@dataclass
class _Aside:
    """A circuit that is filled, with the answers of its views so far, by their lower-case names."""

    state: State
    catalog: Catalog
    installed: Installed
    contents: dict[str, ViewContent] = field(init=False)

    def __post_init__(self) -> None:
        """Have the engine know of it."""
        engine = self.state.engine
        views = {name: self.catalog.views[name] for name in self.installed.circuit.outputs}
        self.contents = {name: engine.content_here(view) for name, view in views.items()}
        engine.aside.append(self.installed)

    def work(self, inputs: Mapping[str, Delta]) -> None:
        """Take in a piece."""
        result = self.state.engine.piece(self.installed, inputs)
        try:
            for name, delta in result.changes.items():
                self.contents[name].propose(delta)
        except BaseException:
            result.discard()
            raise
        result.commit_aside(self.installed)
        for content in self.contents.values():
            content.commit()

    def sees_rows_alone(self) -> bool:
        """True if what has failed last sees each row by itself."""
        place = self.state.engine.failed
        return place is not None and place.installed is self.installed and is_by_row(self.installed, place.number)

    def drop(self) -> None:
        """Leave nothing of it."""
        engine = self.state.engine
        engine.aside = [item for item in engine.aside if item is not self.installed]
        self.installed.drop()
        for content in self.contents.values():
            content.drop()


class Filling:
    """Views that are being filled, in a circuit of their own; `names` are theirs, in lower case.

    Those that they replace are filled too, as they are now, where their answers are not kept. Between steps `piece`
    goes on, `follow` takes in what a step has changed, and `finish` catches up with the rest. Then the step of the
    change shows what is different from the `earlier` answers, and has the circuit `take_place`; or all is dropped.
    """

    def __init__(self, state: State, new: _Aside, before: _Aside | None = None) -> None:
        self._state = state
        self._new, self._before = new, before
        self.names = tuple(new.contents)
        stored = Stored(state)
        read = frozenset[str]().union(*(item.installed.reads for item in self._asides))
        # The small ones first: what is joined with them is then joined once.
        known = [table for name, table in state.catalog.tables.items() if name in read]
        tables = sorted(known, key=lambda table: (stored.count(table), table.name))
        self._feeds = {table.name.lower(): _Feed(table, stored.frozen(table)) for table in tables}
        self._rows, self._of = 0, sum(map(stored.count, tables))
        self._seconds = 0.0
        self._size = FIRST_FILLED_ROWS
        self._catching_up = 0
        self._retracts = False

    @property
    def _asides(self) -> list[_Aside]:
        return [item for item in (self._new, self._before) if item is not None]

    @property
    def facts(self) -> FillingFacts:
        """The rows given so far, and the time that is left."""
        left = max(self._of - self._rows, 0)
        seconds = left * self._seconds / self._rows if self._rows else None
        views = tuple(self._new.catalog.views[name].name for name in self.names)
        return FillingFacts(views, min(self._rows, self._of), self._of, seconds)

    @property
    def is_near(self) -> bool:
        """True if what is left is no more than a piece, or does not become less."""
        return self._of - self._rows <= self._size or self._catching_up > MOST_CATCHING_UP

    def follow(self, changes: Iterable[tuple[str, pa.Table]]) -> None:
        """Keep for later what a step has changed in the tables."""
        for name, rows in changes:
            self._feeds[name].came.append(rows)
            self._of += rows.num_rows

    def changes(self, intakes: Sequence[Intake]) -> list[tuple[str, pa.Table]]:
        """The changes of a step that are for these views, while they can be read: before it is committed."""
        wanted = [item for item in intakes if item.table.name.lower() in self._feeds and not item.is_empty]
        return [(item.table.name.lower(), _rows_of(item)) for item in wanted]

    def piece(self, seconds: float) -> float:
        """Go on by some rows, of which there will be more next time if they take less than `seconds`; how long it took.

        Raises what an expression raises, or IndefiniteError from it.
        """
        began = time.perf_counter()
        self.give(self._size)
        taken = time.perf_counter() - began
        self._seconds += taken
        self._adapt(taken, seconds)
        return taken

    def _adapt(self, taken: float, wanted: float) -> None:
        """Have the next piece take about as long as is wanted."""
        size = int(self._size * min(2.0, max(0.5, wanted / max(taken, 1e-6))))
        self._size = min(
            max(size, LEAST_FILLED_ROWS, min(self._of // FILLED_PIECES, LARGEST_FILLED_SHARE)), MOST_FILLED_ROWS
        )

    def finish(self) -> None:
        """Catch up with all that is left."""
        while self.give(MOST_FILLED_ROWS):
            pass

    def give(self, most: int) -> bool:
        """Give at most so many rows of one table to the circuits; False if there were none left."""
        for item in self._asides:
            if item.installed.fresh:
                self._work(item, {})
        for feed in self._feeds.values():
            rows = feed.take(most)
            if rows is not None:
                self._give_rows(feed.table, rows)
                return True
        self._of = self._rows
        return False

    def _give_rows(self, table: Table, rows: pa.Table) -> None:
        self._retracts = self._retracts or bool(pc.any(pc.less(rows[WEIGHT], 0)).as_py())
        self._catching_up += all(feed.has_all for feed in self._feeds.values())
        name = table.name.lower()
        for item in self._asides:
            if name in item.installed.reads:
                self._work(item, {name: self._state.engine.change_of(table, rows)})
        self._rows += rows.num_rows
        reach("deploy.filling")

    def _work(self, item: _Aside, inputs: Mapping[str, Delta]) -> None:
        try:
            item.work(inputs)
        except BaseException as error:
            raise self._raised(item, error) from error

    def _raised(self, item: _Aside, error: BaseException) -> BaseException:
        """The error to raise; what an expression raises counts if it does so for rows that are there in the end."""
        found = translated(error, item.catalog)
        definite = item is self._new and not self._retracts and item.sees_rows_alone()
        return IndefiniteError(found) if isinstance(found, EvaluationError) and not definite else found

    def earlier(self) -> dict[str, pa.Table]:
        """The answers of the views that are replaced, as far as they were filled; they are not needed any more."""
        if self._before is None:
            return {}
        found = {name: content.rows() for name, content in self._before.contents.items()}
        self._before.drop()
        self._before = None
        return found

    def take_place(self) -> dict[str, ViewContent]:
        """Have the circuit be at work from the next step on, which shows all of the views; gives their contents."""
        contents = self._new.contents
        self._new.installed.answers = {name: partial(_whole, content) for name, content in contents.items()}
        self._state.engine.take_in(self._new.installed)
        return contents

    def drop(self) -> None:
        """Leave nothing of it."""
        for item in self._asides:
            item.drop()


def _rows_of(intake: Intake) -> pa.Table:
    """The change of a table, in the types of its declaration; a column that nobody reads may be empty."""
    change = intake.change
    rows = change if isinstance(change, pa.Table) else change.arrow()
    return as_declared(intake.table, rows)


def _whole(content: ViewContent, delta: Delta | None) -> Delta | None:
    """The whole answer of a view, with what a step changes in it; None if there is no row."""
    if delta is not None and not delta.is_empty():
        content.propose(delta)
    return content.whole()
