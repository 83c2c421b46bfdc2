"""The steps that points of the past are: AS OF and START AT in a query, and what Python gives for them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import assert_never

from penstock.bind.taking_in import Start
from penstock.catalog.model import Catalog, Table, View
from penstock.errors import DataError, Diagnostic, PenstockError, Span, SqlError, did_you_mean
from penstock.pipeline.reads import read_whole
from penstock.plan.nodes import Scan
from penstock.sql.points import Point, PointKind
from penstock.steps.rows.batch import first_position
from penstock.steps.saved_positions import Position
from penstock.steps.stepper import Stepper

Value = Position | int | str | datetime


@contextmanager
def placed_at(span: Span | None) -> Iterator[None]:
    """A block whose errors, where they have no place, are at one."""
    try:
        yield
    except PenstockError as error:
        error.with_place(span)
        raise


@dataclass(frozen=True)
class Points:
    """The points of one pipeline; `now` is the clock, `evaluated` the value of the text of a TIMESTAMP."""

    stepper: Stepper
    now: Callable[[], datetime]
    evaluated: Callable[[str], datetime | None]

    def step_of(self, point: Point) -> int:
        """The step behind which a point is; SqlError or DataError if there is none."""
        match point.kind:
            case PointKind.STEP:
                return self._reached(int(point.value), point.span)
            case PointKind.POSITION:
                return self._saved(point.value, point.span).step
            case PointKind.TIMESTAMP:
                with placed_at(point.span):
                    return self._at(self.evaluated(point.value), point.span)
            case _:
                assert_never(point.kind)

    def step_of_value(self, value: Value) -> int:
        """The same of what Python gives: a position or its name, the number of a step, or a time (naive UTC)."""
        if isinstance(value, Position):
            return self._reached(value.step)
        if isinstance(value, int):
            return self._reached(value)
        if isinstance(value, datetime):
            return self._at(value if value.tzinfo is None else value.astimezone(UTC).replace(tzinfo=None))
        if self.stepper.positions.get(value) is not None:
            return self._saved(value).step
        try:
            return self.step_of_value(datetime.fromisoformat(value))
        except ValueError:
            return self._saved(value).step

    def _saved(self, name: str, span: Span | None = None) -> Position:
        found = self.stepper.positions.get(name)
        if found is None:
            near = did_you_mean(name, [str(item.name) for item in self.stepper.positions.all])
            message = f"no position {name[:100]} is saved"
            raise SqlError(Diagnostic("UNKNOWN_POSITION", message, span, near, "SAVE POSITION gives this point a name"))
        return found

    def _reached(self, step: int, span: Span | None = None) -> int:
        last = self.stepper.number
        if not 0 <= step <= last:
            message = f"there is no step {step} yet: the last one is {last}" if step > 0 else f"there is no step {step}"
            raise DataError(Diagnostic("NO_SUCH_STEP", message, span, hint=f"steps 0 to {last} can be asked for"))
        return step

    def _at(self, clock: datetime | None, span: Span | None = None) -> int:
        if clock is None:
            raise SqlError(Diagnostic("BAD_VALUE", "AS OF TIMESTAMP NULL is no point", span))
        latest = max(filter(None, (self.stepper.clock, self.now())))
        if clock > latest:
            message = f"{clock} has not come yet: it is {latest}"
            raise DataError(Diagnostic("NO_SUCH_STEP", message, span, hint="leave AS OF out for what there is now"))
        return self.stepper.log.moments.step_at(clock)


def start_at(stepper: Stepper, clock: datetime, after: int | None) -> Start:
    """The moment at which a query begins now, or that reads streams from behind an earlier step on."""
    return Start(clock, first_position(stepper.number + 1), after)


def check_start(stepper: Stepper, catalog: Catalog, views: tuple[View, ...]) -> None:
    """Refuse a query that begins at an earlier point, if too little is kept.

    DataError or SqlError for a stream whose rows are gone, and for a table that has changed since: rows of a stream
    meet it as it is when they come, and they would meet another.
    """
    for view in views:
        scans = [node for node in view.plan.walk() if isinstance(node, Scan)]
        since = max((node.since for node in scans if node.since is not None), default=None)
        if since is None:
            continue
        for node in scans:
            table = catalog.table(node.relation)
            if node.since is not None and table is not None:
                stepper.log.check_reach(table, node.since + 1)
        if view.showing is not None and view.showing.streamed:
            for name in sorted(_tables(catalog, read_whole(view))):
                _refuse_changed(stepper, catalog.table(name), since)


def _tables(catalog: Catalog, names: frozenset[str]) -> set[str]:
    """The tables among relations, and below the views among them."""
    waiting, found = list(names), set[str]()
    while waiting:
        name = waiting.pop()
        view = catalog.views.get(name)
        if view is None:
            found.add(name)
        elif view.plan is not None:
            waiting += read_whole(view)
    return found


def _refuse_changed(stepper: Stepper, table: Table | None, since: int) -> None:
    if table is None or not stepper.log.changes_after(table, since):
        return
    message = f"{table.name} has changed since step {since}: rows that came before would meet it as it is now"
    hint = f"START AT a point behind the last change of {table.name}; or join a version of it, FOR SYSTEM_TIME AS OF"
    raise DataError(Diagnostic("START_AT", message, hint=hint))
