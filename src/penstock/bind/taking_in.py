"""The rows that a standing query takes in: those from its start on, and those that are not late for it.

A view and a query that is answered once take in all rows; only dedup with limits has them remember which keys have
passed.

A window over rows without a waterline gets one of the query's own: the greatest time seen, less its delay. It is kept
by a view with LATENESS that nobody asked for by name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TypeGuard, assert_never, cast

from sqlglot import exp

from penstock.bind.modality import is_streaming
from penstock.bind.scalars import fields_of, scalar_of, unique_names
from penstock.catalog.model import (
    EVENT_TIME,
    PASSED,
    Catalog,
    ClosingSessions,
    Column,
    Grid,
    Lateness,
    Remembering,
    Table,
    View,
)
from penstock.catalog.reserved import ARRIVED, POSITION
from penstock.plan.nodes import (
    Aggregate,
    Arrived,
    Arriving,
    AsofJoin,
    Distinct,
    Field,
    Filter,
    Fixpoint,
    Generate,
    Join,
    JoinKind,
    MatchRecognize,
    Node,
    Plan,
    Project,
    Recompute,
    Scan,
    Session,
    SetOperation,
    TopK,
    UnionAll,
    Values,
    Window,
)
from penstock.plan.scalar import Scalar, column, column_tree
from penstock.plan.showing import OwnWaterline
from penstock.sql.complaints import unsupported
from penstock.sql.trees import call
from penstock.types.durations import long, timestamp

SESSION_NUMBER = "__session_number"
HasWaterline = Callable[[Catalog, Plan, str], bool]
_NEVER_LATE = "INTERVAL 100000000 DAYS"  # less than any time, so that only the age decides


@dataclass(frozen=True, slots=True)
class Windows:
    """The windows of a relation, in microseconds; a session has no slide, and windows of months have no length."""

    length: int | None
    slide: int | None = None
    origin: int = 0
    aligned: bool = True


@dataclass(frozen=True, slots=True)
class SessionColumns:
    """The columns that sessions are made by: keys, the time, what opens and closes one, when a row arrived."""

    keys: tuple[Scalar, ...]
    time: Scalar
    opens: Scalar | bool
    closes: Scalar | bool
    arrived: tuple[Scalar, ...] = ()

    def named(self) -> Iterator[tuple[str, Scalar]]:
        """The same as columns."""
        for at, key in enumerate(self.keys):
            yield f"__session_key{at}", key
        yield "__session_time", self.time
        for name, condition in (("__session_opens", self.opens), ("__session_closes", self.closes)):
            if not isinstance(condition, bool):
                yield name, condition
        for at, moment in enumerate(self.arrived):
            yield f"__session_arrived{at}", moment

    def rule(self, sessions: ClosingSessions, told: Mapping[str, str]) -> ClosingSessions:
        """The sessions with the names of the columns that they are made by."""
        return replace(
            sessions,
            keys=tuple(told[f"__session_key{at}"] for at in range(len(self.keys))),
            time=told["__session_time"],
            opens=told.get("__session_opens"),
            closes=told.get("__session_closes"),
            arrived=tuple(told[f"__session_arrived{at}"] for at in range(len(self.arrived))),
        )


@dataclass(frozen=True, slots=True)
class Start:
    """The moment at which a query begins to stand: rows that were there have positions below `position`.

    With START AT it reads streams from `after` a step on, and not from now.
    """

    clock: datetime = datetime(1970, 1, 1)  # noqa: DTZ001 - UTC, as all clocks
    position: int = 0
    after: int | None = None


@dataclass
class TakingIn:
    """The findings while a standing query is bound, or with `in_view` a view or a query that is answered once.

    Streams are read from now on where it `tails`. With `delay` (microseconds) a window's rows get a waterline where
    they have none; None lets them be. With `age` (microseconds) rows that are older than that by the clock, by their
    column `aged_by`, are left out when they come, and where it `leaves` them, as soon as they are. `keys` are the
    columns of which each value has a waterline of its own. Of the rows that a stream has at the `start` those count
    that have a time, or a position, from `since` on. With `sessions` its rows are numbered by these, which is
    to be told the columns. A `streamed` query sees the same through views: they are read as what they stand for.
    """

    name: str
    catalog: Catalog
    has_waterline: HasWaterline
    tails: bool = False
    delay: int | None = None
    age: int | None = None
    aged_by: str = EVENT_TIME
    leaves: bool = False
    since: datetime | int | None = None
    start: Start = Start()
    keys: tuple[exp.Expression, ...] = ()
    sessions: ClosingSessions | None = None
    streamed: bool = False
    in_view: bool = False
    views: list[View] = field(default_factory=list)
    waterlines: list[OwnWaterline] = field(default_factory=list)
    has_aged: bool = False

    @contextmanager
    def whole(self) -> Iterator[None]:
        """Relations that are read with their past."""
        before = self.tails, self.since
        self.tails, self.since = False, None
        try:
            yield
        finally:
            self.tails, self.since = before

    def is_tail(self, relation: Table | View) -> bool:
        """True for a stream of which the query sees what comes."""
        if not self.tails or not isinstance(relation, Table):
            return False
        return relation.stream if self.streamed else relation.append_only and not relation.key

    def only_comes(self, plan: Plan) -> bool:
        """True for rows of streams that none of them leaves: what chooses and joins the rows that come."""
        node = cast("Node", plan)
        match node:
            case Scan():
                relation = self.catalog.relation(node.relation)
                if isinstance(relation, View):
                    return (
                        relation.kind in ("gate", PASSED)
                        and relation.plan is not None
                        and self.only_comes(relation.plan)
                    )
                return relation is not None and relation.append_only
            case Project() | Filter() | UnionAll() | Generate():
                return all(map(self.only_comes, node.inputs))
            case Join():
                return node.kind is JoinKind.INNER and all(map(self.only_comes, node.inputs))
            case Values() | AsofJoin() | Aggregate() | Distinct() | SetOperation() | TopK() | Window() | Session():
                return False
            case MatchRecognize() | Recompute() | Fixpoint() | Arriving() | Arrived():
                return False
            case _:
                assert_never(node)

    def _lies_as_it_comes(self, plan: Plan) -> bool:
        """True for rows that lie in the order in which they have come: those of one table, chosen and computed."""
        match plan:
            case Scan():
                relation = self.catalog.relation(plan.relation)
                if isinstance(relation, View):
                    return relation.plan is not None and self._lies_as_it_comes(relation.plan)
                return True
            case Project() | Filter():
                return self._lies_as_it_comes(plan.input)
            case _:
                return False

    def reads_through(self, relation: Table | View) -> TypeGuard[View]:
        """True for a view that is read as its query."""
        through = self.streamed or self.start.after is not None
        if not self.tails or not through or not isinstance(relation, View) or relation.recursive:
            return False
        return isinstance(relation.query, exp.Expression) and is_streaming(relation.query, self.catalog)

    def recent(self, plan: Plan, relation: Table | View) -> Plan:
        """The rows of a relation of FROM that are not too old."""
        times = [name for name in plan.names if name.lower() == EVENT_TIME]
        rises = isinstance(relation, Table) and relation.append_only
        if isinstance(self.since, int) and rises and POSITION in plan.names:
            there = exp.GTE(this=column_tree(POSITION), expression=long(self.since))
            return Filter(plan, scalar_of(there, fields_of(plan)))
        if isinstance(self.since, datetime) and rises and times and POSITION in plan.names:
            return self._sought(plan, times[0], self.since)
        names = [name for name in plan.names if name.lower() == self.aged_by]
        if self.age is None or not names:
            return plan
        self.has_aged = True
        if not self.leaves:
            return self._behind(plan, names[0], Lateness(_NEVER_LATE, age=self.age))
        fields = fields_of(plan)
        age = exp.Interval(this=exp.Literal.string(f"{self.age / 1_000_000:f}"), unit=exp.Var(this="SECOND"))
        since = exp.Sub(this=call("now"), expression=age)
        return Filter(plan, scalar_of(exp.GTE(this=column_tree(names[0]), expression=since), fields))

    def _sought(self, plan: Plan, time: str, since: datetime) -> Plan:
        """The rows that come after the start, and those before that have a time, or a position, from `since` on."""
        utc = self.catalog.settings.get("time zone", "UTC") == "UTC"
        text = f"{since:%Y-%m-%d %H:%M:%S.%f}{'' if utc else '+00:00'}"
        old = exp.GTE(this=column_tree(time), expression=timestamp(exp.Literal.string(text)))
        new = exp.GTE(this=column_tree(POSITION), expression=long(self.start.position))
        return Filter(plan, scalar_of(exp.Or(this=old, expression=new), fields_of(plan)))

    def gated(self, plan: Plan, time: exp.Expression, windows: Windows) -> Plan:
        """The rows that a window is to be put over, without those that are late for the query."""
        if not self.keeps_waterline(plan, time):
            return plan
        grid = None
        if windows.slide is not None and windows.length is not None and windows.aligned:
            grid = Grid(windows.slide, (windows.origin + windows.length) % windows.slide)
        late = Lateness(f"INTERVAL {self.delay} MICROSECONDS", grid=grid)
        return self._behind(plan, str(time.name), late, windows)

    def keeps_waterline(self, plan: Plan, time: exp.Expression) -> bool:
        """True if the query has a waterline of its own for the time of a window, since the rows have none."""
        name = str(time.name) if isinstance(time, exp.Column) else None
        return self.delay is not None and name in plan.names and not self.has_waterline(self.catalog, plan, name)

    def remembered(
        self, plan: Plan, order: exp.Expression, keys: Sequence[exp.Expression], remembering: Remembering
    ) -> Plan:
        """The rows whose key is not remembered yet, in the order of a column; all are columns of the plan."""
        position = order.name
        arrived = f"{position.rpartition('.')[0]}.{ARRIVED}"
        names = unique_names([item.rpartition(".")[2] for item in plan.names])
        new = dict(zip(plan.names, names, strict=True))
        late = Lateness(
            "0",
            keys=tuple(new[key.name] for key in keys),
            remembering=replace(remembering, arrived=new[arrived]),
        )
        return self._behind(plan, position, late)

    def _behind(self, plan: Plan, name: str, late: Lateness, windows: Windows | None = None) -> Plan:
        """The rows behind a filter by one of their columns: a view with LATENESS, under their own names."""
        names = unique_names([item.rpartition(".")[2] for item in plan.names])
        items = zip(names, plan.fields, strict=True)
        rows = Project(plan, tuple((new, column(item.name, item.type, item.nullable)) for new, item in items))
        if windows is not None:
            late = replace(late, keys=tuple(self._named(plan, names, key) for key in self.keys))
        view = self._view(rows, names[plan.names.index(name)], late, windows)
        scan = Scan(view.name, tuple(Field(item.name, item.type, item.nullable) for item in rows.fields))
        back = zip(plan.names, scan.fields, strict=True)
        return Project(scan, tuple((old, column(item.name, item.type, item.nullable)) for old, item in back))

    def in_sessions(self, plan: Plan, given: SessionColumns) -> Plan:
        """The rows that are in a session, with its number in the column that is there for it."""
        assert self.sessions is not None  # noqa: S101 - the caller has asked
        computed = list(given.named())
        names = unique_names([*(item.rpartition(".")[2] for item in plan.names), *(name for name, _ in computed)])
        own, behind = names[: len(plan.names)], names[len(plan.names) :]
        told = dict(zip((name for name, _ in computed), behind, strict=True))
        items = [(new, column(item.name, item.type, item.nullable)) for new, item in zip(own, plan.fields, strict=True)]
        rows = Project(plan, (*items, *zip(behind, (scalar for _, scalar in computed), strict=True)))
        rule = replace(given.rule(self.sessions, told), in_order=self._lies_as_it_comes(plan))
        view = self._view(rows, own[plan.names.index(SESSION_NUMBER)], Lateness("0", sessions=rule), None)
        scan = Scan(view.name, tuple(Field(item.name, item.type, item.nullable) for item in rows.fields))
        back = zip(plan.names, scan.fields[: len(own)], strict=True)
        return Project(scan, tuple((old, column(item.name, item.type, item.nullable)) for old, item in back))

    @staticmethod
    def _named(plan: Plan, names: list[str], key: exp.Expression) -> str:
        """The column that a key of substreams is; UnsupportedError for what is none of these rows."""
        for new, old in zip(names, plan.names, strict=True):
            if isinstance(key, exp.Column) and key.name.lower() == old.rpartition(".")[2].lower():
                return new
        hint = "name a column of the relation that the window is over"
        raise unsupported(code="SUBSTREAM", message="PARTITION BY an expression", place=key, hint=hint)

    def _view(self, rows: Plan, time: str, late: Lateness, windows: Windows | None) -> View:
        number = f" {len(self.views) + 1}" if self.views else ""
        columns = tuple(Column(item.name, item.type, item.nullable) for item in rows.fields)  # type: ignore[arg-type]
        view = View(f"{self.name} (rows{number})", "", None, columns, rows, "gate", lateness={time.lower(): late})
        if self.in_view:
            view = replace(view, kind=PASSED, owner=self.name.lower())
        self.views.append(view)
        self.catalog = self.catalog.with_view(view)
        if windows is not None and windows.length is not None:
            slide = windows.slide if windows.aligned else None
            self.waterlines.append(OwnWaterline(view.name.lower(), time, windows.length, slide, windows.origin))
        return view


def taking_in_view(name: str, catalog: Catalog) -> TakingIn:
    """The findings while a view or query is bound: it takes in all rows, and no window has a waterline of its own."""
    return TakingIn(name, catalog, lambda _, __, ___: True, in_view=True)


def with_taking_in(catalog: Catalog, taking_in: TakingIn) -> Catalog:
    """The catalog with the views that were made on the way."""
    for view in taking_in.views:
        catalog = catalog.with_view(view)
    return catalog
